package prediction

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// Page is all that a page of predictions shows. It is a plain value, safe for concurrent reading.
type Page struct {
	Result Result
	// Rows are of runs of Schedulers, which Runs describes.
	Rows []experiment.Row
	Runs comparison.Runs
}

// Schedulers returns the names of the schedulers that the page compares.
func Schedulers() []string {
	return []string{experiment.Default, experiment.Spazio, "coin", experiment.Pronto, experiment.ProntoCoin}
}

const (
	predictionIntro  = `Pronto (A. Grammenos, E. Kalyvianaki, P. Pietzuch, 2021) has a node ask for no more work while its load is at a peak: a rejection is to foretell contention. The thesis that Spazio comes from starts with it, drops it on an informal look (§2.6.3), and nobody has measured it on Kubernetes' nodes. Here it is measured: package [pronto](../pronto) with its defaults, federated, each with what chance would do that rejects as often.`
	predictionMethod = `A spike begins where pressure exceeds a threshold after a second at or below it: the node's own 95th percentile or .5. It is foretold within w if the node rejected in one of the w seconds before it, told where the node rejects at its very first sample. An alarm is where rejections begin after a second without; it is in vain if no spike is under way and none begins within the window; one at the first sample of a spike is not in vain, but foretells nothing. "of the time" is the share of samples that reject; the lead is from the first rejection within the longest window to the spike. "threshold" and "ewma" are set so that they reject as often as Pronto does on the same node, which they could not know beforehand; "coin" is thrown sample by sample, "shifted" has Pronto's own rejections at another time (means of twenty draws each). Series with a row in five minutes count rows for seconds, and have the CPU's utilisation in the place of pressure; with one channel, directions are the same whatever the centre.`
	filterMethod     = `The runtime of containers takes time of its own when it starts and ends one, so that pressure rises whatever the load. Filtered is behind the agent's dynamic EMA, and rejections are void for the second after a container's event (ten at most in a row), which is what the agent does against them. Calm are seconds whose mean pressure is at most a tenth or the node's median.`
	schedulerMethod  = `Each simulated node has a tracker on what an agent samples, ten times a second, and refuses pods while it rejects; between the others kube-scheduler's default profile chooses. Ratios are to that profile without rejections, seed by seed, with their 95 % interval. "pronto-coin" refuses as often, by chance; "coin" never, and takes any node that fits.`
)

// Write writes the page; names of pictures begin with base.
func (e Page) Write(p *report.Page, base string) error {
	p.Paragraph(predictionIntro)
	for _, s := range e.Result.sources {
		p.Paragraph(fmt.Sprintf("%s: %s.", s.name, s.about))
	}
	p.Heading(2, "Which claims hold")
	p.Table(claimed(e.Result, e.Rows))
	p.Heading(2, "1 Prediction")
	p.Paragraph(predictionMethod)
	var list []string
	for _, name := range signals() {
		list = append(list, fmt.Sprintf("%s: %s", name, about(name)))
	}
	p.Paragraph("Signals: " + strings.Join(list, "; ") + ".")
	if err := e.pictures(p, base); err != nil {
		return err
	}
	e.tables(p, false)
	p.Heading(2, "2 Containers that start, a filter and a gate")
	p.Paragraph(filterMethod)
	p.Tables("", e.Result.startsTable())
	e.tables(p, true)
	if len(e.Rows) > 0 {
		p.Heading(2, "3 As a scheduler")
		p.Paragraph(schedulerMethod)
		p.Paragraph(e.Runs.String())
		p.Tables("", e.schedulers()...)
	}
	return nil
}

func (e Page) tables(p *report.Page, behind bool) {
	for _, s := range e.Result.sources {
		for _, spike := range thresholds() {
			if t, ok := scores(e.Result, s, behind, spike); ok {
				p.Table(t)
			} else {
				p.Paragraph(fmt.Sprintf("%s has less than %d spikes above %v.", s.name, fewest, spike))
			}
		}
	}
}

// pictures are the shares foretold and, of each source with a second, a minute of it.
func (e Page) pictures(p *report.Page, base string) error {
	if c := e.foretold(); len(c.Panels) > 0 {
		p.Picture("foretold", base+"-foretold.svg",
			fmt.Sprintf("Share of the spikes above the node's 95th percentile that are foretold within %d; to the right is better. A signal is worth what it has beyond both coins.", windows[falseWindow]), c)
	}
	for _, s := range e.Result.sources {
		if s.second == 1 {
			continue
		}
		c, err := minute(s)
		if err != nil {
			return err
		}
		p.Picture(s.name, fmt.Sprintf("%s-%s.svg", base, s.name),
			fmt.Sprintf("The minute of %s, %s, with most spikes: pressure, and shaded where Pronto rejects, raw and filtered.", s.name, s.nodes[0].Name), c)
	}
	return nil
}

// foretold has a panel a source in which anything was foretold.
func (e Page) foretold() (c report.Chart) {
	for _, s := range e.Result.sources {
		var dots report.DotPlot
		for _, row := range e.Result.Rows {
			if row.Source == s.name && row.Spike == ownPercentile && row.Spikes >= fewest {
				v := row.foretoldShare(falseWindow)
				dots.Add(row.Signal, seen(row.Filtered), v, v, v)
			}
		}
		if _, most := dots.Range(); most > 0 {
			c.Panels = append(c.Panels, dots.Panel(s.name, report.Axis{Label: "share foretold", Min: 0, Max: 1}))
		}
	}
	return c
}

// minute draws the pressure of a source's first node with Pronto's rejections.
func minute(s Source) (c report.Chart, err error) {
	pressure := s.nodes[0].Pressure
	from := busiest(pressure, 60*s.second)
	to := min(from+60*s.second, len(pressure))
	for _, behind := range []bool{false, true} {
		rejects, err := rejections(s, behind)
		if err != nil {
			return c, err
		}
		p := report.Panel{
			Title: seen(behind), X: report.Axis{Label: "seconds", Min: 0, Max: 60}, Y: report.Axis{Label: "pressure", Min: 0, Max: 1},
			Series: []report.Series{{Name: "pressure", Style: report.Steps}},
		}
		for i := from; i < to; i++ {
			at := float64(i-from) / float64(s.second)
			p.Series[0].Points = append(p.Series[0].Points, report.Point{X: at, Y: pressure[i]})
			if rejects[0][i] {
				p.Spans = append(p.Spans, report.Span{Name: "rejection", From: at, To: at + 1/float64(s.second)})
			}
		}
		c.Panels = append(c.Panels, p)
	}
	return c, nil
}

// busiest is where the span of so many samples with most crossings of .5 begins, of
// those that begin at a multiple of its length.
func busiest(pressure []float64, length int) (from int) {
	most := -1
	for start := 0; start+length <= len(pressure); start += length {
		crossings := 0
		for i := start + 1; i < start+length; i++ {
			if pressure[i] > .5 && pressure[i-1] <= .5 {
				crossings++
			}
		}
		if crossings > most {
			from, most = start, crossings
		}
	}
	return from
}

// compared are the metrics of the scheduler's tables.
var compared = []string{"makespan", "run_mean", "sojourn_mean", "slowdown_p99", "most_pods_per_core", "useful_share"}

// schedulers has a table a case.
func (e Page) schedulers() (all []text.Table) {
	cells, cases := map[[3]string]string{}, []string{}
	for _, l := range experiment.Ratios(e.Rows, experiment.Default) {
		if !slices.Contains(cases, l.Experiment) {
			cases = append(cases, l.Experiment)
		}
		cells[[3]string{l.Experiment, l.Scheduler, l.Metric}] = shortInterval(l.Interval)
	}
	for _, c := range cases {
		t := text.Table{Title: strings.ReplaceAll(c, "/", ", "), Header: []string{"scheduler"}}
		for _, metric := range compared {
			t.Header = append(t.Header, comparison.Words(metric))
		}
		for _, s := range Schedulers() {
			if s == experiment.Default {
				continue
			}
			row := []string{s}
			for _, metric := range compared {
				row = append(row, cmp.Or(cells[[3]string{c, s, metric}], "–"))
			}
			t.Add(row...)
		}
		all = append(all, t)
	}
	return all
}

func shortInterval(i experiment.Interval) string {
	if math.IsNaN(i.Low) {
		return fmt.Sprintf("%.3g", i.Mean)
	}
	return fmt.Sprintf("%.3g [%.3g, %.3g]", i.Mean, i.Low, i.High)
}
