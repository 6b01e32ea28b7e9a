package comparison

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
)

const method = `Every figure is the mean over the seeds with its 95 % confidence interval (Student's t). Ratios are taken seed by seed, each against kube-scheduler's default on the same pods, and averaged geometrically. The useful share is what pods' work took, without what kills have lost, over the makespan times the cores. Run time is from running to done, sojourn from creation to done, or to the end of the run where the Job of the pod gave up or the run was cut off; slowdown is run time over that alone on a node. Where pods were cut off (unfinished) or, in the total slowdown, gave up, a figure is marked: ≥ for a lower bound, in ratios ≤ where that is so of the default and ≈ where it is of both. The p-values of the headlines are of Student's paired test on the ratios' logarithms, and adjusted by Holm for the number of headlines, those included that could not be computed or that pods cut off leave open. central-queue is one queue in front of all cores, first come, first served, where starts cost nothing; lower-bound is computed, and no scheduler can beat it. Pictures name in words what tables call spazio (Spazio, defaults), spazio-units (Spazio, as installed), spazio-pooled (Spazio, all pods typical), spazio-shortest-first (Spazio, shortest first), requests-right (correct requests), requests-p98 (98th percentile requested) and limit-range (one LimitRange).`

// Report writes the comparison into a page: what was run, what holds, and of each
// experiment its question, pictures and tables with all columns. Files of pictures
// begin with base.
func (c Comparison) Report(p *report.Page, base string) {
	p.Paragraph(c.String())
	p.Paragraph(method)
	for _, e := range c.LeftOut {
		p.Paragraph(fmt.Sprintf("%s is left out: it needs %s.", e.Known(), e.NeedsTrace))
	}
	p.Tables("Cores used beside services", c.cores())
	p.Tables("Headlines", c.headlines())
	p.Tables("Which targets hold", c.targets())
	p.Tables("What is lost", c.losses())
	p.Tables("Which findings hold", c.findings())
	lines, ratios := experiment.Summarise(c.Rows), experiment.Ratios(c.Rows, experiment.Default)
	reported := map[string]bool{}
	for _, first := range c.Cases {
		name := first.Experiment.Name
		if reported[name] {
			continue
		}
		reported[name] = true
		p.Heading(2, first.Experiment.Title+": "+first.Experiment.Known())
		p.Paragraph(first.Experiment.Question)
		p.Paragraph(first.Params.Machines() + ".")
		c.pictures(p, name, base, ratios)
		for _, k := range c.of(name) {
			p.Tables("", c.ofCase(k, lines, ratios, 0)...)
		}
	}
}
