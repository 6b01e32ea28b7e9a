package requestreport

import (
	"io"
	"math"

	"github.com/spazio-scheduler/spazio/sim/report"
)

// WriteHTML writes the report as a page that needs no other file.
func (r *Report) WriteHTML(w io.Writer) error {
	page, err := report.NewPage("report.html", "What pods request and what they use")
	if err != nil {
		return err
	}
	for _, line := range r.summary() {
		page.Paragraph(line)
	}
	for _, line := range r.Notes {
		page.Paragraph(line)
	}
	for _, p := range []struct {
		name, caption string
		chart         report.Chart
	}{
		{"total", "The cluster: what pods request and use, as per cent of what they may request.", r.totalChart()},
		{"nodes", "Nodes by their p95, or their mean where there are too few samples: below the line a node uses less than its pods request. A dot may stand for several nodes.", r.nodeChart()},
		{"workloads", "The workloads that request most above their need: what their pods request, need, and would request by the recommendation.", r.workloadChart()},
	} {
		if len(p.chart.Panels) > 0 {
			page.Picture(p.name, p.name+".svg", p.caption, p.chart)
		}
	}
	for _, t := range r.tables() {
		if len(t.Rows) > 0 {
			page.Table(t)
		}
	}
	page.Paragraph("A dash is unknown: it was not measured. Percentiles are of values of one moment every ten seconds; of recordings, of means over ten seconds.")
	return page.Write(w)
}

// totalChart compares the requests and the use of all nodes.
func (r *Report) totalChart() (c report.Chart) {
	var d report.DotPlot
	t := &r.Total
	for _, row := range resources {
		for _, series := range []struct {
			name      string
			of, whole resourceAmounts
		}{
			{"requested", t.Requested, t.Allocatable}, {"requested by recommendation", t.Recommended, t.Allocatable},
			{"used, mean", t.Used.Mean, t.Measured}, {"used, p95", t.Used.P95, t.Measured}, {"used, p99", t.Used.P99, t.Measured},
		} {
			if s := share(row.of(series.of), row.of(series.whole)); s.Known {
				d.Add(row.name, series.name, 100*s.Value, 0, 0)
			}
		}
	}
	_, largest := d.Range()
	if largest == 0 {
		return c
	}
	c.Panels = []report.Panel{d.Panel("the cluster", report.Axis{Label: "% of what pods may request", Max: max(100, 1.05*largest)})}
	return c
}

// resources are those of resourceAmounts, with the unit of a chart.
var resources = []struct {
	name, label string
	unit        float64
	of          func(resourceAmounts) Measured
}{
	{"CPU", "cores", 1, func(a resourceAmounts) Measured { return a.CPU }},
	{"memory", "GiB", 1 << 30, func(a resourceAmounts) Measured { return a.Memory }},
}

// nodeChart has a dot for each node and resource, of whole per cents, so that a page of thousands of
// nodes can be mailed.
func (r *Report) nodeChart() (c report.Chart) {
	largest := 100.
	for _, row := range resources {
		seen := map[report.Point]bool{}
		s := report.Series{Name: "nodes", Style: report.Dots}
		for i := range r.Nodes {
			n := &r.Nodes[i]
			requested, used := share(row.of(n.Requested), row.of(n.Allocatable)), share(row.of(n.Used.typical()), row.of(n.Capacity))
			p := report.Point{X: math.Round(100 * requested.Value), Y: math.Round(100 * used.Value)}
			if requested.Known && used.Known && !seen[p] {
				seen[p] = true
				s.Points = append(s.Points, p)
				largest = max(largest, p.X, p.Y)
			}
		}
		if len(s.Points) > 0 {
			c.Panels = append(c.Panels, report.Panel{Title: row.name, Tall: true, Series: []report.Series{s}})
		}
	}
	for i := range c.Panels {
		p := &c.Panels[i]
		p.X = report.Axis{Label: "requested, % of the allocatable", Max: largest}
		p.Y = report.Axis{Label: "used, % of the capacity", Max: largest}
		p.Series = append(p.Series, report.Series{Name: "as much as requested", Style: report.Dashed, Points: []report.Point{{}, {X: largest, Y: largest}}})
	}
	return c
}

// workloadChart compares workloads by the requests of all their pods.
func (r *Report) workloadChart() (c report.Chart) {
	for _, resource := range resources {
		var d report.DotPlot
		for i := range r.Workloads[:min(len(r.Workloads), most)] {
			w := &r.Workloads[i]
			request, need := resource.of(w.Request), resource.of(w.Need)
			if w.rank <= 0 || !request.Known || !need.Known {
				continue
			}
			name, pods := w.Namespace+"/"+w.title(), resource.of(w.Requested).Value/request.Value
			add := func(series string, m Measured) {
				if m.Known {
					d.Add(name, series, m.Value*pods/resource.unit, 0, 0)
				}
			}
			add("requested", request)
			add("need", need)
			add("recommended", resource.of(w.Recommended))
		}
		if _, largest := d.Range(); largest > 0 {
			c.Panels = append(c.Panels, d.Panel(resource.name, report.Axis{Label: resource.label + ", all pods of the workload", Max: 1.05 * largest}))
		}
	}
	return c
}
