package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

const quality = "simulated counter"

// run returns one of that many joules over a hundred requests.
func run(scheduler string, pair int, joules float64) runResult {
	return runResult{
		Scheduler: scheduler, Pair: pair, Seconds: 60, Joules: joules, Overhead: joules / 10, Requests: 100,
		CPU: map[string]float64{"app": 2, "scheduler": .5}, P50: .01, P99: .02, P999: .03, Bind: .004, Bound: 3,
		Pods: map[string]float64{"slice-1": 14, "slice-2": 13},
	}
}

// measured is a ratio as far as tests look at it.
type measured struct {
	Ratio, Low, High float64
	Pairs            int
	Verdict          string
}

func of(t *testing.T, r Report, quantity string) measured {
	t.Helper()
	for _, q := range r.ratios() {
		if q.Quantity == quantity {
			return measured{q.Ratio, q.Low, q.High, q.Pairs, q.Verdict}
		}
	}
	t.Fatalf("no ratio of %s", quantity)
	return measured{}
}

// Two pairs have one degree of freedom: the interval is mean ± 12.7062 s/√2 of the logs.
func TestRatios(t *testing.T) {
	r := Report{Quality: quality, Schedulers: []string{"a", "b"}, Runs: []runResult{run("a", 0, 100), run("b", 0, 200), run("b", 1, 210), run("a", 1, 100)}}
	got := of(t, r, "energy a request, J")
	mean, half := (math.Log(2)+math.Log(2.1))/2, 12.706204736*(math.Log(2.1)-math.Log(2))/2
	if math.Abs(got.Ratio-math.Exp(mean)) > 1e-9 || math.Abs(got.Low-math.Exp(mean-half)) > 1e-9 || math.Abs(got.High-math.Exp(mean+half)) > 1e-9 || got.Pairs != 2 {
		t.Errorf("%+v, want %v times e to the ± %v", got, math.Exp(mean), half)
	}
	for verdict, b := range map[string][2]float64{"more": {200, 201}, "less": {50, 50.1}, "no difference shown": {99, 101.5}} {
		r.Runs[1].Joules, r.Runs[2].Joules = b[0], b[1]
		if got := of(t, r, "energy a request, J"); got.Verdict != verdict {
			t.Errorf("%v over 100: %+v, want %q", b, got, verdict)
		}
	}
	r.Runs[1].Joules, r.Runs[2].Joules = 100, 100
	if got := of(t, r, "energy a request, J"); got.Verdict != "no difference shown" || got.Ratio != 1 {
		t.Errorf("the same numbers: %+v", got)
	}
}

// A pair with a void run does not count, and the run is shown.
func TestVoidRuns(t *testing.T) {
	void := run("b", 1, 1e6)
	void.Void = "2.0 % sent late"
	r := Report{Quality: quality, Schedulers: []string{"a", "b"}, Runs: []runResult{
		run("a", 0, 100), run("b", 0, 200), void, run("a", 1, 1), run("a", 2, 100), run("b", 2, 201),
	}}
	if got := of(t, r, "energy a request, J"); got.Pairs != 2 || got.Verdict != "more" {
		t.Errorf("%+v, want more, of two pairs", got)
	}
	// A repeated run counts.
	r.Runs = append(r.Runs, run("b", 1, 2))
	if got := of(t, r, "energy a request, J"); got.Pairs != 3 || got.Ratio > 2.1 {
		t.Errorf("%+v, want three pairs", got)
	}
	shown := written(t, r)
	for _, want := range []string{"| void runs | 0 | 1 |", "2.0 % sent late"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	r.Runs = r.Runs[:3]
	if got := of(t, r, "energy a request, J"); got.Pairs != 0 || got.Verdict != "too few pairs" {
		t.Errorf("of one pair %+v", got)
	}
}

// A missing value gives no ratio and no number, neither NaN nor 0.
func TestUntold(t *testing.T) {
	var runs []runResult
	for pair := range 3 {
		for _, s := range []string{"a", "b"} {
			one := run(s, pair, 100)
			one.Requests, one.Bind = 0, 0
			runs = append(runs, one)
		}
	}
	r := Report{Quality: quality, Schedulers: []string{"a", "b"}, Runs: runs}
	for _, q := range []string{"energy a request, J", "creation to bind, ms"} {
		if got := of(t, r, q); got.Pairs != 0 || got.Verdict != "too few pairs" {
			t.Errorf("%s: %+v", q, got)
		}
	}
	if shown := written(t, r); strings.Contains(shown, "NaN") || strings.Contains(shown, "Inf") {
		t.Errorf("not a number in\n%s", shown)
	}
	if _, err := json.Marshal(r.ratios()); err != nil {
		t.Error(err)
	}
}

// empty is a page with a heading.
func empty(t *testing.T) *report.Page {
	t.Helper()
	p, err := report.NewPage("report.md", "Schedulers compared")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func written(t *testing.T, r Report) string {
	t.Helper()
	p := empty(t)
	if err := r.addTo(p, "x.svg"); err != nil {
		t.Fatal(err)
	}
	return string(p.Bytes())
}

// Every table and the picture are headed by the source of the joules.
func TestQualityHeadsEveryTable(t *testing.T) {
	r := Report{Quality: quality, Schedulers: []string{"a", "b"}, Runs: []runResult{run("a", 0, 100), run("b", 0, 200)}}
	tables := r.tables()
	for _, table := range tables {
		if !strings.Contains(table.Title, quality) {
			t.Errorf("a table is headed %q", table.Title)
		}
	}
	if len(tables) != 4 {
		t.Errorf("%d tables", len(tables))
	}
	for i, panel := range r.chart().Panels {
		if !strings.Contains(panel.Title, quality) {
			t.Errorf("panel %d is headed %q", i, panel.Title)
		}
	}
}

func TestReportValidate(t *testing.T) {
	good := Report{Schedulers: []string{"a"}, Runs: []runResult{run("a", 0, 1)}}
	if err := good.validate(); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]Report{
		"Schedulers": {Schedulers: []string{"a", "a"}}, "Runs.Scheduler": {Schedulers: []string{"a"}, Runs: []runResult{run("b", 0, 1)}},
	} {
		var refused *field.Error
		if err := bad.addTo(empty(t), ""); !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// An A/A comparison of five pairs, in the order A B B A A B B A A B, finds no difference in 95 of a
// hundred: with noise alone, with steady drift of the machine, with a random walk, and if the first
// run of a pair has an advantage. The order turns drift and advantage into noise between the pairs,
// which makes intervals wider, but never causes a false difference.
func TestNoDifferenceIsHonest(t *testing.T) {
	const trials, pairs = 4000, 5
	for _, world := range []struct {
		name               string
		drift, walk, first float64
		exact              bool
	}{
		{"noise", 0, 0, 0, true}, {"steady drift", .01, 0, 0, false}, {"random walk", 0, .01, 0, false}, {"the first is favoured", 0, 0, .02, false},
	} {
		random := rand.New(rand.NewPCG(1, uint64(len(world.name))))
		silent := 0
		for range trials {
			r := Report{Schedulers: []string{"a", "b"}}
			machine, walked := 0., 0.
			for pair := range pairs {
				order := []string{"a", "b"}
				if pair%2 == 1 {
					order = []string{"b", "a"}
				}
				for i, s := range order {
					machine += world.drift
					walked += world.walk * random.NormFloat64()
					level := machine + walked + .01*random.NormFloat64() + world.first*float64(i)
					r.Runs = append(r.Runs, run(s, pair, 100*math.Exp(level)))
				}
			}
			if of(t, r, "energy a request, J").Verdict == "no difference shown" {
				silent++
			}
		}
		share := float64(silent) / trials
		t.Logf("%s: no difference in %.3f of the trials", world.name, share)
		allowed := 4 * math.Sqrt(.95*.05/trials) // four standard deviations of the share
		if share < .95-allowed || world.exact && share > .95+allowed {
			t.Errorf("%s: no difference in %.4f of the trials", world.name, share)
		}
	}
}

// Five pairs find a difference of 3 % beside noise of 1 % more often than not.
func TestDifferenceIsFound(t *testing.T) {
	const trials = 500
	random := rand.New(rand.NewPCG(3, 3))
	found := 0
	for range trials {
		r := Report{Schedulers: []string{"a", "b"}}
		for pair := range 5 {
			r.Runs = append(r.Runs, run("a", pair, 100*math.Exp(.01*random.NormFloat64())), run("b", pair, 97*math.Exp(.01*random.NormFloat64())))
		}
		if of(t, r, "energy a request, J").Verdict == "less" {
			found++
		}
	}
	if found < trials*3/4 {
		t.Errorf("found in %d of %d trials", found, trials)
	}
}

// A part's cost is the mean difference to the part before it, or to the first, round by round: of
// differences 1 and 3, 2 ± 12.71.
func TestComponents(t *testing.T) {
	c := Components{Quality: quality, Parts: []componentResult{
		{Name: "nothing", Cores: []float64{0, 0}, Watts: []float64{10, 10}},
		{Name: "agents", Cores: []float64{.1, .1}, Watts: []float64{12, 12}},
		{Name: "scheduler", Cores: []float64{.2, .2}, Watts: []float64{13, 15}},
		{Name: "all busy", Alone: true, Cores: []float64{2, 2}, Watts: []float64{40, 40}},
	}}
	want := [][]string{
		{"nothing", "0", "10", "", "", ""},
		{"agents", "0.1", "12", "0.1 ± 0", "2 ± 0", "more"},
		{"scheduler", "0.2", "14", "0.1 ± 0", "2 ± 12.71", "no difference shown"},
		{"all busy", "2", "40", "2 ± 0", "30 ± 0", "more"},
	}
	table := c.Table()
	if diff := cmp.Diff(want, table.Rows); diff != "" || !strings.Contains(table.Title, quality) {
		t.Errorf("%s (-want +got):\n%s", table.Title, diff)
	}
}

func TestGuests(t *testing.T) {
	g := Guests{Quality: quality, Rows: []guestsRow{{Guests: 20, Publications: 580, Mean: 1, Least: .991, P99: 1.008, Most: 1.0126, Millicores: 2.345}}}
	want := [][]string{{"20", "580", "1.000", "0.991", "1.008", "1.013", "2.35"}}
	table := g.Table()
	if diff := cmp.Diff(want, table.Rows); diff != "" || !strings.Contains(table.Title, quality) {
		t.Errorf("%s (-want +got):\n%s", table.Title, diff)
	}
}

func TestWords(t *testing.T) {
	r := Report{Quality: "simulated counter over real CPU time", Schedulers: []string{"default-scheduler", "spazio"}}
	for pair, joules := range [][2]float64{{100, 98}, {101, 103}, {99, 98}} {
		r.Runs = append(r.Runs,
			runResult{Scheduler: "default-scheduler", Pair: pair, Joules: joules[0], Requests: 1000},
			runResult{Scheduler: "spazio", Pair: pair, Joules: joules[1], Requests: 1000})
	}
	want := "Joules are of a simulated counter over real CPU time. spazio over default-scheduler, energy a request, J: no difference shown (0.996, 0.946 to 1.049, 3 pairs)."
	if got := r.words(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The same report gives the same bytes, and its JSON reads back.
func TestReportIsStable(t *testing.T) {
	r := Report{Quality: quality, Settings: [][2]string{{"rate", "100"}}, Schedulers: []string{"a", "b"}}
	for pair := range 3 {
		r.Runs = append(r.Runs, run("a", pair, 100+float64(pair)), run("b", pair, 110))
	}
	if a, b := written(t, r), written(t, r); a != b {
		t.Error("two pages differ")
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	var png bytes.Buffer
	if err := r.chart().WritePNG(&png); err != nil || png.Len() == 0 {
		t.Errorf("a picture of %d bytes, error %v", png.Len(), err)
	}
}

// readings returns cores and watts, each a second.
func readings(of ...float64) (all []followedReading) {
	for i := 0; i+1 < len(of); i += 2 {
		all = append(all, followedReading{At: float64(i/2 + 1), Seconds: 1, Cores: of[i], Watts: of[i+1]})
	}
	return all
}

// Of readings of 1, 2 and 1 cores at 20, 34 and 20 W a core takes 20, 17 and 20 W, 19 W ±
// 4.303 √3/√3 by Student's distribution of two degrees of freedom; from one to the next
// energy changes to 1.7 and .588 of what it was, processor time to 2 and .5.
func TestFollowing(t *testing.T) {
	f := Following{Quality: quality, Settings: []followedResult{
		{Name: "alone", Readings: readings(1, 20, 2, 34, 1, 20)},
		{Name: "idle", Readings: readings(0, 10)},
	}}
	want := [][]string{
		{"alone", "3", "1.333", "43.3", "24.67", "32.8", "19 ± 4.303", "30.0"},
		{"idle", "1", "0", "-", "10", "-", "-", "-"},
	}
	tab := f.Table()
	if diff := cmp.Diff(want, tab.Rows); diff != "" || !strings.Contains(tab.Title, quality) {
		t.Errorf("%s (-want +got):\n%s", tab.Title, diff)
	}
	c := f.chart()
	if len(c.Panels) != 2 || len(c.Panels[0].Series) != 2 {
		t.Fatalf("%+v", c)
	}
	for i, want := range [][]report.Point{{{X: 2, Y: 2}, {X: 3, Y: .5}}, {{X: 2, Y: 1.7}, {X: 3, Y: 20. / 34}}} {
		if diff := cmp.Diff(want, c.Panels[0].Series[i].Points, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Panels[0].Series[i].Name, diff)
		}
	}
}

// TestBusyCPUs: if CPUs that should be busy are not, neither table draws a conclusion, and both
// have the numbers.
func TestBusyCPUs(t *testing.T) {
	for _, cpus := range []int{1, 2, 8, 64} {
		for _, share := range []float64{.19, .85, .95, 1} {
			busy := share * float64(cpus)
			parts := Components{Quality: quality, Parts: []componentResult{
				{Name: "nothing", Cores: []float64{.01, .02, .01}, Watts: []float64{20, 20.1, 20}},
				{Name: "all CPUs busy", Alone: true, CPUs: cpus, Cores: []float64{busy, busy, busy}, Watts: []float64{250, 20, 500}},
			}}
			following := Following{Quality: quality, Settings: []followedResult{{Name: "a guest", CPUs: cpus, Readings: readings(busy, 20, busy, 34, busy, 20)}}}
			row, guest := strings.Join(parts.Table().Rows[1], " "), strings.Join(following.Table().Rows[0], " ")
			want := fmt.Sprintf("of %d CPUs were busy", cpus)
			for _, shown := range []string{row, guest} {
				if strings.Contains(shown, want) != (share < .9) || strings.Contains(shown, "±") == (share < .9) {
					t.Errorf("%g of %d CPUs busy: %s", busy, cpus, shown)
				}
			}
		}
	}
}

// The figures have a dot a part with its interval, and a bar from the least to the largest for each
// number of guests; the saved files are the page, the picture, the table and all numbers.
func TestFigures(t *testing.T) {
	parts := Components{Quality: quality, Parts: []componentResult{
		{Name: "nothing", Cores: []float64{0, 0}, Watts: []float64{10, 10}}, {Name: "agents", Cores: []float64{.1, .3}, Watts: []float64{12, 14}},
	}}
	c := parts.chart()
	// ± 12.7062·√2·.1/√2 about .2
	if p := c.Panels[0].Series[0].Points[1]; len(c.Panels) != 2 || math.Abs(p.X-.2) > 1e-9 || math.Abs(p.High-.2-1.27062) > 1e-4 || math.Abs(.2-p.Low-1.27062) > 1e-4 {
		t.Errorf("%+v", p)
	}
	guests := Guests{Quality: quality, Rows: []guestsRow{{Guests: 1, Mean: 1, Least: .9, Most: 1.1}, {Guests: 20, Mean: 1.01, Least: .8, Most: 1.3}}}
	if diff := cmp.Diff([]report.Point{{X: 1, Y: 1, Low: .9, High: 1.1}, {X: 20, Y: 1.01, Low: .8, High: 1.3}}, guests.chart().Panels[0].Series[0].Points); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	following := Following{Quality: quality, Settings: []followedResult{{Name: "alone", Readings: readings(1, 20, 2, 30, 1, 20)}}}
	dir := t.TempDir()
	for name, of := range map[string]interface{ Save(string) error }{"components": parts, "guests": guests, "following": following} {
		if err := of.Save(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{".md", ".svg", ".png", ".csv", ".json"} {
			text, err := os.ReadFile(filepath.Join(dir, name, name+end))
			if err != nil || len(text) == 0 {
				t.Errorf("%s%s: %d bytes, error %v", name, end, len(text), err)
			}
			if (end == ".md" || end == ".json") && !strings.Contains(string(text), quality) {
				t.Errorf("%s%s does not say what the joules are", name, end)
			}
		}
	}
}

// A value that no run has is "-" in the tables, and leaves out the tables and files that are only about it.
func TestMissingValues(t *testing.T) {
	var runs []runResult
	for pair := range 2 {
		for s, joules := range map[string]float64{"a": 100, "b": 200 + float64(pair)} {
			one := run(s, pair, joules)
			one.CPU, one.Overhead = nil, 0
			runs = append(runs, one)
		}
	}
	one := Report{Quality: quality, Schedulers: []string{"a", "b"}, Runs: runs}
	shown := written(t, one)
	if strings.Contains(shown, "by role") || !strings.Contains(shown, "\n| scheduler and agents, J | - | - |") {
		t.Errorf("of what no run tells:\n%s", shown)
	}
	dir := t.TempDir()
	if err := one.Save(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"means.csv", "ratios.csv", "report.md", "runs.csv", "runs.json", "schedulers.png", "schedulers.svg"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var screen bytes.Buffer
	if err := one.WriteText(&screen, text.Terminal); err != nil || !strings.HasSuffix(screen.String(), one.words()+"\n") {
		t.Errorf("error %v, on the screen:\n%s", err, screen.String())
	}
}

// Whatever the names of schedulers, nodes, roles and settings, and the size of figures, no line is
// wider than a terminal.
func TestColumns(t *testing.T) {
	long := func(i int) string {
		return []string{fmt.Sprintf("gke-production-europe-west4-b-high-memory-pool-7f9c6d8b54-x2kq%d", i), fmt.Sprint(strings.Repeat("compute-europe-west4.", 11), i)}[i%2]
	}
	r := Report{Quality: quality}
	components := Components{Quality: quality}
	following := Following{Quality: quality}
	for i := range 6 {
		r.Schedulers = append(r.Schedulers, long(i))
		for pair := range 3 {
			one := run(long(i), pair, 123456.789/float64(pair+1))
			one.CPU, one.Pods = map[string]float64{long(6): 1e6, long(7): 1e6}, map[string]float64{long(8): 1e5, long(9): 1e5}
			one.Requests, one.Errors = 123456789, 12345
			r.Runs = append(r.Runs, one)
		}
		components.Parts = append(components.Parts, componentResult{Name: long(i), Cores: []float64{1000, 1}, Watts: []float64{1e6, 2}})
		following.Settings = append(following.Settings, followedResult{Name: long(i), Readings: readings(1000, 20000, 1, 2)})
	}
	var b bytes.Buffer
	if err := r.WriteText(&b, text.Terminal); err != nil {
		t.Fatal(err)
	}
	for _, of := range []text.Table{components.Table(), following.Table()} {
		if err := of.WriteText(&b, text.Terminal); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := text.Width(strings.TrimSuffix(line, "\n")); n > text.Terminal {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if n := strings.Count(b.String(), "…"); n < 20 {
		t.Errorf("%d names are shortened:\n%s", n, b.String())
	}
}
