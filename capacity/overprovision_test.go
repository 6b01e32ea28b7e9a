package capacity_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

// feed takes one window of completion times t and returns what it led to.
func feed(t *testing.T, s *capacity.Overprovision, c capacity.OverprovisionConfig, time float64) capacity.Growth {
	t.Helper()
	g := capacity.Waiting
	for i := range c.Window {
		if g != capacity.Waiting {
			t.Fatalf("%v after %d of %d completions", g, i, c.Window)
		}
		var err error
		if *s, g, err = capacity.StepOverprovision(*s, time, c); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func TestOverprovisionTrace(t *testing.T) {
	c := capacity.OverprovisionConfig{Window: 4, Threshold: 1.21, Recent: 3, Most: 3}
	var s capacity.Overprovision
	for i, step := range []struct {
		time      float64
		growth    capacity.Growth
		allowance float64
	}{
		{10, capacity.Measured, 0},
		{10, capacity.Grown, 1},
		{10.9, capacity.Grown, 2},
		{12, capacity.Halved, 1},
		{10.9, capacity.Grown, 2}, // 10.9 to 12 are recent now
		{10.9, capacity.Grown, 3},
		{9, capacity.Grown, 3}, // at most 3
		{10.9, capacity.Halved, 1.5},
		{10.9, capacity.Halved, .75},
		{10.9, capacity.Halved, .375},
		{10.9, capacity.Grown, 1.375}, // the 9 is forgotten: the new normal
	} {
		if g := feed(t, &s, c, step.time); g != step.growth || s.Allowance != step.allowance {
			t.Fatalf("window %d of %v: %v to %v, want %v to %v", i, step.time, g, s.Allowance, step.growth, step.allowance)
		}
	}
}

// TestOverprovisionSawtooth closes the loop: pods beyond the node's four cores
// slow all of them down. The allowance climbs, is halved, and climbs again.
func TestOverprovisionSawtooth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := capacity.OverprovisionConfig{Window: 16, Most: 50}
	var s capacity.Overprovision
	halved, most, sum := 0, 0., 0.
	const windows = 500
	for range windows {
		pods := math.Floor(4 + s.Allowance)
		for range c.Window {
			time := 10 * math.Max(1, pods/6) * (.95 + .1*rng.Float64())
			var g capacity.Growth
			var err error
			if s, g, err = capacity.StepOverprovision(s, time, c); err != nil {
				t.Fatal(err)
			}
			if g == capacity.Halved {
				halved++
			}
		}
		most, sum = math.Max(most, s.Allowance), sum+s.Allowance
	}
	if halved < 20 || most > 6 || sum/windows < 1 {
		t.Errorf("halved %d times, at most %v, mean %v", halved, most, sum/windows)
	}
}

// TestOverprovisionDoesNotCreep is why the reference is the least of several
// windows: each is within the threshold of the one before.
func TestOverprovisionDoesNotCreep(t *testing.T) {
	for recent, creeps := range map[int]bool{1: true, 8: false} {
		c := capacity.OverprovisionConfig{Window: 4, Recent: recent, Most: 1000}
		var s capacity.Overprovision
		halved, time := 0, 10.
		for range 60 {
			if feed(t, &s, c, time) == capacity.Halved {
				halved++
			}
			time *= 1.05
		}
		if (halved == 0) != creeps {
			t.Errorf("%d recent windows: halved %d times in 60 windows that each grew by 5 %%", recent, halved)
		}
	}
}

func TestOverprovisionRejects(t *testing.T) {
	s, _, err := capacity.StepOverprovision(capacity.Overprovision{}, 3, capacity.OverprovisionConfig{})
	if err != nil {
		t.Fatal(err)
	}
	broken := s
	broken.Past[2] = math.NaN()
	for field, tt := range map[string]struct {
		s capacity.Overprovision
		t float64
		c capacity.OverprovisionConfig
	}{
		"t":         {s, 0, capacity.OverprovisionConfig{}},
		"Window":    {s, 1, capacity.OverprovisionConfig{Window: -1}},
		"Threshold": {s, 1, capacity.OverprovisionConfig{Threshold: .5}},
		"Recent":    {s, 1, capacity.OverprovisionConfig{Recent: 17}},
		"Most":      {s, 1, capacity.OverprovisionConfig{Most: math.NaN()}},
		"Past":      {broken, 1, capacity.OverprovisionConfig{}},
	} {
		got, _, err := capacity.StepOverprovision(tt.s, tt.t, tt.c)
		var fe *capacity.FieldError
		if !errors.As(err, &fe) || fe.Field != field {
			t.Errorf("%s: error %v", field, err)
		}
		if field != "Past" && got != tt.s {
			t.Errorf("%s: the state changed", field)
		}
	}
}

func TestStartupAllowance(t *testing.T) {
	for _, tt := range []struct {
		name                               string
		capacity, cost, startup, run, most float64
		want                               float64
		field                              string
	}{
		{"four slots, a tenth of the run to start", 1, .25, 1, 10, 0, .4, ""},
		{"short pods", 1, .25, 1, .5, 0, 8, ""},
		{"own cap", 1, .25, 1, .5, 2, 2, ""},
		{"no room", 0, .25, 1, 10, 0, 0, ""},
		{"no latency", 1, .25, 0, 10, 0, 0, ""},
		{"overflow is capped", 1e300, 1e-300, 1e-300, 1e300, 3, 3, ""},
		{"no run time", 1, .25, 1, 0, 0, 0, "run"},
		{"NaN cost", 1, math.NaN(), 1, 1, 0, 0, "cost"},
		{"infinite latency", 1, 1, math.Inf(1), 1, 0, 0, "startup"},
	} {
		got, err := capacity.StartupAllowance(tt.capacity, tt.cost, tt.startup, tt.run, tt.most)
		var fe *capacity.FieldError
		if tt.field != "" && (!errors.As(err, &fe) || fe.Field != tt.field) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		if tt.field == "" && err != nil || math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}
