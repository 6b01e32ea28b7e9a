package simulate

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spazio-scheduler/spazio/report/page"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// writeReport writes the page that --report asks for; pictures stand within an
// HTML page, and in files of its name beside a Markdown page. fill writes into the
// page and returns the pictures by file name, which begins with base.
func (p *plan) writeReport(title string, fill func(p page.Page, base string) (map[string][]byte, error), stderr io.Writer) error {
	path := p.report
	if path == "" {
		return nil
	}
	var written page.Page = &page.Markdown{}
	inline := filepath.Ext(path) == ".html"
	if inline {
		written = &page.HTML{Title: title}
	}
	written.Heading(1, title)
	files, err := fill(written, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	if err != nil {
		return err
	}
	if inline {
		files = nil
	}
	for name, svg := range files {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), svg, 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if err := os.WriteFile(path, written.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	fmt.Fprintf(stderr, "report: %s\n", path)
	return nil
}

// provenance says which seeds and rows a report is of.
func provenance(seeds []uint64, heldOut bool, set []string) string {
	kind := "for tuning"
	if heldOut {
		kind = "held out from tuning"
	}
	text := fmt.Sprintf("%d seeds, %d to %d, and halves of traces, %s.", len(seeds), seeds[0], seeds[len(seeds)-1], kind)
	if len(set) > 0 {
		text += " Spazio with " + strings.Join(set, ", ") + "."
	}
	return text
}

const title = "Simulated schedulers compared"

const method = `Every figure is the mean over the seeds with its 95 % confidence interval (Student's t). Ratios are taken seed by seed, each against kube-scheduler's default on the same pods, and averaged geometrically. The useful share is what pods' work took, but for what kills have lost, over the makespan times the cores. Run time is from running to done, sojourn from creation to done; slowdown is run time over that alone on a node. central-queue is one queue in front of all cores, first come, first served, where starts cost nothing; lower-bound is computed, and no scheduler can beat it.`

// report fills the page and returns the pictures by file name.
func (r results) report(p page.Page, base string) (map[string][]byte, error) {
	files := map[string][]byte{}
	p.Paragraph(provenance(r.seeds, r.cases[0].Params.HeldOut, r.set))
	p.Paragraph(method)
	for _, e := range r.left {
		p.Paragraph(fmt.Sprintf("%s is left out, for want of %s.", strings.ToUpper(e.Name), e.NeedsTrace))
	}
	if v := r.verdicts(); len(v.Rows) > 1 {
		p.Heading(2, "Which targets hold")
		p.Table(v)
	}
	if l := r.losses(); len(l.Rows) > 1 {
		p.Heading(2, "What is lost")
		p.Table(l)
	}
	if v := r.findings(); len(v.Rows) > 1 {
		p.Heading(2, "Which findings hold")
		p.Table(v)
	}
	seen := map[string]bool{}
	for _, c := range r.cases {
		e := c.Experiment
		if seen[e.Name] {
			continue
		}
		seen[e.Name] = true
		p.Heading(2, strings.ToUpper(e.Name)+": "+e.Title)
		p.Paragraph(e.Question)
		p.Paragraph(fmt.Sprintf("%d nodes of %d cores.", c.Params.Nodes, c.Params.Cores))
		pictures, err := r.pictures(e.Name)
		if err != nil {
			return nil, err
		}
		for _, q := range pictures {
			file := fmt.Sprintf("%s-%s-%s.svg", base, e.Name, q.metric)
			files[file] = q.svg
			p.Picture(page.Picture{Name: q.metric, Caption: q.caption, File: file, SVG: q.svg})
		}
		r.caseTables(p, e)
	}
	return files, nil
}

func (r results) caseTables(p page.Page, e experiment.Experiment) {
	for _, c := range r.cases {
		if c.Experiment.Name != e.Name {
			continue
		}
		for _, t := range r.tablesOf(c.Label) {
			p.Table(t)
		}
	}
}
