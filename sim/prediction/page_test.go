package prediction

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
)

var update = flag.Bool("update", false, "write the golden files anew")

// leaping returns a source of two nodes whose pressure jumps, if foretold, a sample after the
// metric does.
func leaping(foretold bool) Source {
	rng := rand.New(rand.NewPCG(1, 2))
	s := Source{name: "leaping", about: "two nodes, made up", second: 10, unit: "s"}
	for _, name := range []string{"a", "b"} {
		n := node{Name: name, Churn: make([]bool, 3000)}
		leap := 0
		for i := range 3000 {
			if rng.IntN(60) == 0 && leap < i-30 {
				leap = i
				n.Churn[i] = true
			}
			y, p := .2+.02*float64(i%3), .2+.02*float64(i%5)
			if leap > 0 && i == leap {
				y += .5
			}
			if leap > 0 && i > leap && i < leap+5 {
				p += .4
			}
			if !foretold {
				y = .2 + .02*float64(i%3)
			}
			n.Metrics = append(n.Metrics, []float64{y, .5 * y})
			n.Pressure = append(n.Pressure, p)
		}
		s.nodes = append(s.nodes, n)
	}
	return s
}

// runs returns rows of two seeds in which Pronto's pods are slower than the default's by a factor.
func runs(factor float64) (rows []experiment.Row) {
	for seed, noise := range []float64{1, 1.001} {
		for _, s := range Schedulers() {
			value := 2 * noise
			if s == experiment.Pronto {
				value *= factor / (noise * noise)
			}
			for _, metric := range []string{"makespan", "slowdown_p99"} {
				rows = append(rows, experiment.Row{Experiment: "batch/work=10/law=equal", Scheduler: s, Seed: uint64(seed), Metric: metric, Value: value, Unit: "s"})
			}
		}
	}
	return rows
}

func writtenPage(t *testing.T, s Source, factor float64) *report.Page {
	t.Helper()
	r, err := Evaluate([]Source{s}, 1)
	if err != nil {
		t.Fatal(err)
	}
	e := Page{Result: r, Rows: runs(factor), Runs: comparison.Runs{Seeds: []uint64{1, 2}}}
	path := filepath.Join(t.TempDir(), "pronto.md")
	p, err := report.NewPage(path, "Pronto")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Write(p, "pronto"); err != nil {
		t.Fatal(err)
	}
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	return p
}

// The page is the same to the last byte, pictures included.
func TestPageIsReproducible(t *testing.T) {
	first, second := writtenPage(t, leaping(true), .5), writtenPage(t, leaping(true), .5)
	path := filepath.Join("testdata", "page.md")
	if *update {
		if err := os.WriteFile(path, first.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(first.Bytes())); diff != "" {
		t.Errorf("if it should have changed, run go test -run Page -update (-want +got):\n%s", diff)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("another page")
	}
	if len(first.Files()) != 2 {
		t.Fatalf("%d pictures, want the shares and a minute", len(first.Files()))
	}
	for i, f := range first.Files() {
		if !bytes.Equal(f.Data, second.Files()[i].Data) {
			t.Errorf("another picture %s", f.Name)
		}
		if f.Name == "pronto-leaping.svg" && !strings.Contains(string(f.Data), "rejection") {
			t.Error("no rejection in the picture")
		}
	}
}

// verdicts returns those of the claims with that beginning.
func verdicts(p *report.Page, claim string) (all []string) {
	for line := range strings.Lines(string(p.Bytes())) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(cells[0], "| "+claim) && len(cells) == 4 {
			all = append(all, strings.TrimSuffix(strings.TrimSpace(cells[3]), " |"))
		}
	}
	return all
}

// A page's verdict on a claim is that of the source: rejections a sample before each spike predict
// it, and unrelated ones do not.
func TestClaims(t *testing.T) {
	foretold, vain := writtenPage(t, leaping(true), .5), writtenPage(t, leaping(false), 2)
	const none = "no difference to be seen"
	for _, test := range []struct {
		page  *report.Page
		claim string
		want  []string
	}{
		{foretold, "rejections precede spikes by at most 1", []string{"holds", "holds"}}, // and 15
		{foretold, "few alarms are in vain", []string{"holds"}},
		{foretold, "a fleet's model predicts better", []string{none}},
		{foretold, "containers that start", []string{"holds"}},
		{foretold, "behind filter and gate", []string{none}}, // closed when it would tell
		{foretold, "with rejections fewer pods are slow than under default", []string{"holds"}},
		{foretold, "with rejections fewer pods are slow than under pronto-coin", []string{"holds"}},
		{vain, "rejections precede spikes by at most 1", []string{none, none}},
		{vain, "with rejections fewer pods are slow than under default", []string{"the contrary"}},
		{writtenPage(t, leaping(true), 1), "with rejections fewer pods are slow than under default", []string{none}},
	} {
		if diff := cmp.Diff(test.want, verdicts(test.page, test.claim)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.claim, diff)
		}
	}
}

func TestRowsAndTables(t *testing.T) {
	r, err := Evaluate([]Source{leaping(true)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Table()
	if len(rows.Rows) != 4*len(signals()) || len(rows.Rows[0]) != len(rows.Header) {
		t.Errorf("%d rows of %d cells, %d in the header", len(rows.Rows), len(rows.Rows[0]), len(rows.Header))
	}
	if tables := r.Tables(); len(tables) != 4 || !strings.Contains(tables[3].Title, "filtered") || !strings.Contains(tables[3].Title, ".5") {
		t.Errorf("%d tables", len(tables))
	}
}
