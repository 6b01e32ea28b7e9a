package comparison

import (
	"fmt"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report/page"
)

const method = `Every figure is the mean over the seeds with its 95 % confidence interval (Student's t). Ratios are taken seed by seed, each against kube-scheduler's default on the same pods, and averaged geometrically. The useful share is what pods' work took, but for what kills have lost, over the makespan times the cores. Run time is from running to done, sojourn from creation to done; slowdown is run time over that alone on a node. central-queue is one queue in front of all cores, first come, first served, where starts cost nothing; lower-bound is computed, and no scheduler can beat it.`

// Report writes the comparison into a page: what was run, what holds, and of each
// experiment its question, pictures and tables with all columns. Files of pictures
// begin with base.
func (c Comparison) Report(p page.Page, base string) error {
	p.Paragraph(c.String())
	p.Paragraph(method)
	for _, e := range c.LeftOut {
		p.Paragraph(fmt.Sprintf("%s is left out, for want of %s.", strings.ToUpper(e.Name), e.NeedsTrace))
	}
	if t := c.targets(); len(t.Rows) > 0 {
		p.Heading(2, "Which targets hold")
		p.Table(t)
	}
	if t := c.losses(); len(t.Rows) > 0 {
		p.Heading(2, "What is lost")
		p.Table(t)
	}
	if t := c.findings(); len(t.Rows) > 0 {
		p.Heading(2, "Which findings hold")
		p.Table(t)
	}
	for _, name := range c.names() {
		if err := c.reportOn(p, name, base); err != nil {
			return err
		}
	}
	return nil
}

func (c Comparison) reportOn(p page.Page, name, base string) error {
	pictures, err := c.pictures(name, base)
	if err != nil {
		return err
	}
	lines, ratios := experiment.Summarise(c.Rows), experiment.Ratios(c.Rows, experiment.Default)
	headed := false
	for _, k := range c.Cases {
		if k.Experiment.Name != name {
			continue
		}
		if !headed {
			headed = true
			p.Heading(2, strings.ToUpper(name)+": "+k.Experiment.Title)
			p.Paragraph(k.Experiment.Question)
			p.Paragraph(k.Params.Machines() + ".")
			for _, picture := range pictures {
				p.Picture(picture)
			}
		}
		for _, t := range c.ofCase(k, lines, ratios, 0) {
			p.Table(t)
		}
	}
	return nil
}
