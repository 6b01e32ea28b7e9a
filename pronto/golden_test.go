package pronto_test

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/pronto"
)

// golden is a sequence of testdata/golden.txt, computed by GNU Octave; testdata/golden.m computes it
// and describes the format.
type golden struct {
	kind       string
	parameters []float64
	rows       map[string][]float64
}

func readGolden(t *testing.T, kind string) []golden {
	t.Helper()
	file, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []golden
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		item, rest, _ := strings.Cut(lines.Text(), " ")
		switch item {
		case "#":
		case "detector", "tracker":
			all = append(all, golden{item, numbers(t, rest), map[string][]float64{}})
		default:
			all[len(all)-1].rows[item] = numbers(t, rest)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	var out []golden
	for _, g := range all {
		if g.kind == kind {
			out = append(out, g)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no %s", kind)
	}
	return out
}

func numbers(t *testing.T, line string) []float64 {
	t.Helper()
	var out []float64
	for _, field := range strings.Fields(line) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func TestGoldenDetector(t *testing.T) {
	peaks := 0
	for _, g := range readGolden(t, "detector") {
		lag := int(g.parameters[0])
		d, err := pronto.NewDetector(pronto.DetectorConfig{Lag: lag, Threshold: g.parameters[1], Influence: &g.parameters[2]})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range g.rows["x"] {
			flag, err := d.Step(x)
			if err != nil {
				t.Fatal(err)
			}
			if float64(flag) != g.rows["f"][i] {
				t.Fatalf("%v: flag of value %d: got %d, want %g", g.parameters, i, flag, g.rows["f"][i])
			}
			if flag != 0 {
				peaks++
			}
			n, mean, deviation := d.Window()
			if want := min(i+1, lag); n != want {
				t.Fatalf("%v: got a window of %d after %d values", g.parameters, n, i+1)
			}
			if j := i - lag + 1; j >= 0 && (!near(mean, g.rows["m"][j]) || !near(deviation, g.rows["s"][j])) {
				t.Fatalf("%v: after value %d: got mean %g ± %g, want %g ± %g", g.parameters, i, mean, deviation, g.rows["m"][j], g.rows["s"][j])
			}
		}
	}
	if peaks < 500 {
		t.Errorf("got only %d peaks in all", peaks)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }

func TestGoldenTracker(t *testing.T) {
	var raised int
	for _, g := range readGolden(t, "tracker") {
		d, p := int(g.parameters[0]), g.parameters
		c := pronto.Config{Detector: pronto.DetectorConfig{Lag: int(p[1]), Threshold: p[2]}, Signed: p[3] == 1}
		if p[4] == 1 {
			c.Weight = pronto.WeightEnergy
		}
		tracker, err := pronto.New(c)
		if err != nil {
			t.Fatal(err)
		}
		samples := append(g.rows["y"], g.rows["z"]...)
		var got []float64
		for i := 0; i < len(samples); i += d {
			s, err := tracker.Step(time.Unix(int64(i), 0), samples[i:i+d])
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(g.rows["y"]) {
				got = append(got, s.R)
			}
			if s.R != 0 {
				raised++
			}
		}
		if diff := cmp.Diff(g.rows["r"], got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 })); diff != "" {
			t.Errorf("%v: signals (-want +got):\n%s", p, diff)
		}
	}
	if raised < 20 {
		t.Errorf("got only %d signals other than 0", raised)
	}
}
