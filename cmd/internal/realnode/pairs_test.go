//go:build realnode && linux

package realnode

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
)

var (
	pairs  = flag.Int("pairs", 1, "how many pairs of batches to run of each kind")
	loaded = flag.Bool("loaded", false, "don't wait for a quiet machine")
	kinds  = kindsFlag{{30, 5}, {100, 2}}
)

func init() {
	flag.Var(&kinds, "kinds", "the kinds of batches: pods and seconds of CPU time of each, as in 30x5,100x2")
}

// A kind of batch: so many pods, each of so many seconds of CPU time.
type kind struct {
	pods    int
	seconds int
}

func (k kind) String() string { return fmt.Sprintf("%d pods of %d s", k.pods, k.seconds) }

type kindsFlag []kind

func (f *kindsFlag) String() string { return fmt.Sprint([]kind(*f)) }

func (f *kindsFlag) Set(text string) error {
	*f = nil
	for part := range strings.SplitSeq(text, ",") {
		var k kind
		if _, err := fmt.Sscanf(part, "%dx%d", &k.pods, &k.seconds); err != nil {
			return fmt.Errorf("%q is not PODSxSECONDS: %w", part, err)
		}
		*f = append(*f, k)
	}
	return nil
}

// TestPairs runs the same batch under the default scheduler and under Spazio alternately, and compares
// them with each other and with the simulator. The pods have no requests.
func TestPairs(t *testing.T) {
	install(t)
	var all, models []pair
	for _, k := range kinds {
		var some []pair
		for i := range *pairs {
			p := pair{Kind: k.String()}
			for _, side := range []struct {
				scheduler string
				batch     *batch
			}{{defaults, &p.Default}, {spazio, &p.Spazio}} {
				label := fmt.Sprintf("%dx%d-%d-%s", k.pods, k.seconds, i, side.scheduler)
				*side.batch = run(t, label, side.scheduler, k.pods, fmt.Sprintf("-cpu=%ds", k.seconds))
			}
			some = append(some, p)
		}
		model := simulated(t, k)
		all, models = append(all, some...), append(models, model)
		t.Logf("%v\n%s", k, table(append(some, model)))
		t.Logf("the bars, which are for 30 pods of 5 s:\n%s", bars(some))
	}
	note(t, "pairs", all)
	note(t, "simulated", models)
}

// A pair is the same batch under both schedulers, one after the other.
type pair struct {
	Kind            string
	Default, Spazio batch
}

// columns are the table's columns for a batch.
var columns = []struct {
	name  string
	value func(batch) float64
}{
	{"makespan s", func(b batch) float64 { return b.Makespan }},
	{"run s", func(b batch) float64 { return b.Run }},
	{"sojourn s", func(b batch) float64 { return b.Sojourn }},
	{"queue s", func(b batch) float64 { return b.Queue }},
	{"start-up s", func(b batch) float64 { return b.Startup }},
	{"at once", func(b batch) float64 { return float64(b.AtOnce) }},
	{"bound", func(b batch) float64 { return float64(b.Bound) }},
	{"pressure", func(b batch) float64 { return b.Pressure }},
	{"busy", func(b batch) float64 { return b.Busy }},
	{"load before", func(b batch) float64 { return b.Load }},
}

// table has a line per batch, and one with the ratios of each pair.
func table(some []pair) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, value func(i int) string) {
		fmt.Fprint(w, name, "\t")
		for i := range columns {
			fmt.Fprint(w, value(i), "\t")
		}
		fmt.Fprintln(w)
	}
	line("", func(i int) string { return columns[i].name })
	for _, p := range some {
		for _, b := range []batch{p.Default, p.Spazio} {
			line(b.Scheduler, func(i int) string { return fmt.Sprintf("%.4g", columns[i].value(b)) })
		}
		line("ratio", func(i int) string {
			return fmt.Sprintf("%.2f", columns[i].value(p.Spazio)/columns[i].value(p.Default))
		})
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return text.String()
}

// bars reports which of the bars the pairs reach, by the medians of their ratios.
func bars(some []pair) string {
	var text strings.Builder
	say := func(what string, value, bar float64) {
		verdict := "ok"
		if value > bar {
			verdict = "MISSED"
		}
		fmt.Fprintf(&text, "%-28s %6.2f, at most %.2f: %s\n", what, value, bar, verdict)
	}
	ratio := func(what string, bar float64, of func(batch) float64) {
		var ratios []float64
		for _, p := range some {
			ratios = append(ratios, of(p.Spazio)/of(p.Default))
		}
		say(what, median(ratios), bar)
	}
	most := 0
	for _, p := range some {
		most = max(most, p.Spazio.AtOnce)
	}
	say("most at once", float64(most), float64(runtime.NumCPU()+3))
	ratio("mean run over default", .15, func(b batch) float64 { return b.Run })
	ratio("mean sojourn over default", .65, func(b batch) float64 { return b.Sojourn })
	ratio("makespan over default", 1.05, func(b batch) float64 { return b.Makespan })
	return text.String()
}
