package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--loads", "nap"}, {"--classes", "gold"}, {"--pods", "0"}, {"--duration", "1ms"}, {"--settle", "-1s"}, {"-o", "xml"}, {"word"},
		{"load", "nap"}, {"load"},
		{"flood", "--pods", "0"}, {"flood", "--floods", "-1"}, {"flood", "--work", "0s"}, {"flood", "word"},
	} {
		var stdout, stderr bytes.Buffer
		if code := program.Run(t.Context(), command(), args, &stdout, &stderr); code != program.Usage || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

// Of a load's rows the first candidate is off by .02 at most, the second falls.
func TestJudge(t *testing.T) {
	at := func(pods int, wanted, runnable, pressure float64) row {
		return row{Load: "loop", Class: "mixed", Pods: pods, Wanted: wanted, Candidates: map[string]channel{
			"runnable": {Mean: runnable}, "pressure": {Mean: pressure},
		}}
	}
	r := report{Rows: []row{at(1, .25, .25, .25), at(2, .5, .48, .7), at(4, 1, .99, .6)}}
	for name, want := range map[string]struct {
		worst    float64
		monotone bool
	}{"runnable": {.02, true}, "pressure": {.4, false}} {
		worst, monotone := r.judge(name)
		if math.Abs(worst-want.worst) > 1e-12 || monotone != want.monotone {
			t.Errorf("%s: off by %v, monotone %v; want %+v", name, worst, monotone, want)
		}
	}
	// More pods of another load may mean less.
	r.Rows[2].Load = "burst"
	if _, monotone := r.judge("pressure"); !monotone {
		t.Error("two loads are held against one another")
	}
	var out bytes.Buffer
	if err := r.write(&out, "table"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A mean is over time, and half of the tasks that wait count.
func TestSummarise(t *testing.T) {
	samples := []sample{
		{seconds: 1, utilisation: .5, running: 1, waited: 1, used: 1, channels: [4]float64{.2}},
		{seconds: 3, utilisation: 1, running: 2, waited: 2, used: 1, channels: [4]float64{.6}},
	}
	r := summarise(trial{load: "loop", class: "mixed", pods: 4}, samples)
	if math.Abs(r.Tasks-3.5) > 1e-12 || math.Abs(r.Utilisation-.875) > 1e-12 || r.Used != 1 || math.Abs(r.Candidates["runnable"].Mean-.5) > 1e-12 {
		t.Errorf("%+v", r)
	}
}
