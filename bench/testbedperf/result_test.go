package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, .2: 1, .21: 2, .5: 3, .99: 5, 1: 5} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %v = %v, want %v", q, got, want)
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
	if !math.IsNaN(quantile(nil, .5)) {
		t.Error("of nothing there is a quantile")
	}
}

// A bar that is missed, or that nothing was measured for, is an error.
func TestMissed(t *testing.T) {
	tests := []struct {
		row row
		met bool
	}{
		{row{Value: 1, Bar: 2}, true},
		{row{Value: 2, Bar: 2}, true},
		{row{Value: 3, Bar: 2}, false},
		{row{Value: 3, Bar: 2, Least: true}, true},
		{row{Value: 1, Bar: 2, Least: true}, false},
		{row{Value: 3, Bar: 2, Told: true}, true},
		{row{Value: math.NaN(), Bar: 2}, false},
		{row{Value: math.NaN(), Bar: 2, Least: true}, false},
	}
	for _, test := range tests {
		r := result{Rows: []row{test.row}}
		if err := r.missed(); (err == nil) != test.met {
			t.Errorf("%+v: %v", test.row, err)
		}
		var out bytes.Buffer
		if err := r.write(&out, "table"); err != nil || strings.Contains(out.String(), "MISSED") == test.met {
			t.Errorf("%+v: %v, %s", test.row, err, &out)
		}
	}
}

func TestValidate(t *testing.T) {
	good := options{nodes: 10, slots: 4, jobs: 8, perRound: 2, competing: 4, rounds: 1, pods: 20, single: 5, pairs: 1, still: 1, output: "json"}
	if err := good.validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*options){
		"--nodes":  func(o *options) { o.nodes = 0 },
		"--slots":  func(o *options) { o.slots = 501 },
		"--jobs":   func(o *options) { o.jobs = 7 },
		"--pods":   func(o *options) { o.pods = 36 },
		"--still":  func(o *options) { o.still = 0 },
		"--output": func(o *options) { o.output = "yaml" },
	} {
		o := good
		spoil(&o)
		if err := o.validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run that did not come to its end shows what it has measured.
func TestTellOfHalf(t *testing.T) {
	failed := errors.New("interrupted")
	half := samples{ghosts: []float64{7, 3}, besideGhosts: []float64{90, 80}, slots: []float64{50}, besideNothing: []float64{100, 100}}
	r := &result{Rows: half.rows()}
	var out bytes.Buffer
	if err := r.tell(&out, "table", failed); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	var shown []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[3:] {
		shown = append(shown, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"all ghosts bound, worst 7 ≤ 60 s ok", "pods into slots, of the default profile's beside nothing 0.5 ≥ 0.8 ratio MISSED"}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error(diff)
	}
	if half.ghosts[0] != 7 {
		t.Error("the samples were sorted in place")
	}
	out.Reset()
	if err := new(result).tell(&out, "table", failed); !errors.Is(err, failed) || out.Len() > 0 {
		t.Errorf("of nothing: %v, %s", err, &out)
	}
	if err := r.tell(&out, "json", nil); err == nil || !strings.Contains(err.Error(), "misses 0.8") {
		t.Errorf("a bar was missed: %v", err)
	}
}
