package capacity_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/capacity"
)

var approx = cmpopts.EquateApprox(0, 1e-12)

func TestSolve(t *testing.T) {
	tests := []struct {
		name string
		y, q []float64
		opt  capacity.Options
		want capacity.Result
	}{
		{"first channel limits", []float64{.5, .2}, []float64{.25, .1}, capacity.Options{}, capacity.Result{K: 2, Limiting: 0}},
		{"second channel limits", []float64{.5, .9}, []float64{.25, .1}, capacity.Options{}, capacity.Result{K: 1, Limiting: 1}},
		{"tie goes to the lower channel", []float64{.5, .5}, []float64{.1, .1}, capacity.Options{}, capacity.Result{K: 5, Limiting: 0}},
		{"untouched channel does not limit", []float64{.5, .9}, []float64{.25, 0}, capacity.Options{}, capacity.Result{K: 2, Limiting: 0}},
		{"no model", []float64{.5, .5}, []float64{0, 0}, capacity.Options{}, capacity.Result{K: 100, Limiting: -1, Flags: capacity.NoModel | capacity.Clamped}},
		{"no channels", nil, nil, capacity.Options{}, capacity.Result{K: 100, Limiting: -1, Flags: capacity.NoModel | capacity.Clamped}},
		{"clamped", []float64{0}, []float64{.001}, capacity.Options{}, capacity.Result{K: 100, Limiting: 0, Flags: capacity.Clamped}},
		{"own maximum", []float64{0}, []float64{.1}, capacity.Options{Max: 3}, capacity.Result{K: 3, Limiting: 0, Flags: capacity.Clamped}},
		{"full", []float64{1, .2}, []float64{.25, .1}, capacity.Options{}, capacity.Result{K: 0, Limiting: 0, Flags: capacity.Full}},
		{"overload", []float64{1.5}, []float64{.25}, capacity.Options{}, capacity.Result{K: 0, Limiting: 0, Flags: capacity.Full}},
		{"idle channel full", []float64{.5, 1}, []float64{.25, 0}, capacity.Options{}, capacity.Result{K: 0, Limiting: 1, Flags: capacity.Full}},
		{"full without a model", []float64{1}, []float64{0}, capacity.Options{}, capacity.Result{K: 0, Limiting: 0, Flags: capacity.NoModel | capacity.Full}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := capacity.Solve(tt.y, tt.q, tt.opt)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, approx); d != "" {
				t.Errorf("Solve (-want +got):\n%s", d)
			}
		})
	}
}

func TestSolveRejects(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name  string
		y, q  []float64
		opt   capacity.Options
		field string
	}{
		{"NaN usage", []float64{nan}, []float64{1}, capacity.Options{}, "y[0]"},
		{"infinite usage", []float64{inf}, []float64{1}, capacity.Options{}, "y[0]"},
		{"NaN demand", []float64{0}, []float64{nan}, capacity.Options{}, "q[0]"},
		{"negative demand", []float64{0}, []float64{-1}, capacity.Options{}, "q[0]"},
		{"NaN epsilon", []float64{0}, []float64{1}, capacity.Options{Epsilon: nan}, "Epsilon"},
		{"negative maximum", []float64{0}, []float64{1}, capacity.Options{Max: -1}, "Max"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := capacity.Solve(tt.y, tt.q, tt.opt)
			if !errors.Is(err, capacity.ErrInvalid) || !names(err, tt.field) {
				t.Errorf("error %v, want one of %s", err, tt.field)
			}
		})
	}
	_, err := capacity.Solve([]float64{1, 2}, []float64{1}, capacity.Options{})
	if !errors.Is(err, capacity.ErrLength) || !strings.HasPrefix(err.Error(), "capacity: len(q) = 1: ") {
		t.Errorf("error %v, want len(q) = 1", err)
	}
}

// bisect is the naive twin of Solve: it searches k in max(y + kq) < 1.
func bisect(y, q []float64, max float64) float64 {
	fits := func(k float64) bool {
		for i := range y {
			if y[i]+k*q[i] >= 1 {
				return false
			}
		}
		return true
	}
	if fits(max) {
		return max
	}
	lo, hi := 0.0, max
	for range 100 {
		if mid := (lo + hi) / 2; fits(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

func TestAvailable(t *testing.T) {
	cpu := capacity.Channel{Usage: .5, Capacity: 1, Cost: .25}
	tests := []struct {
		name string
		ch   []capacity.Channel
		pods capacity.Pods
		opt  capacity.AvailOptions
		want capacity.Avail
	}{
		{"signal and model agree", []capacity.Channel{cpu}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 2}},
		{"a pod y has not shown", []capacity.Channel{cpu}, capacity.Pods{Now: 3, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 1}},
		{"a pod that y still shows", []capacity.Channel{cpu}, capacity.Pods{Now: 1, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 3}},
		{"model below signal", []capacity.Channel{{Usage: .5, Capacity: .75, Cost: .25}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 1, Mode: capacity.ModelMode}},
		{"signal below model", []capacity.Channel{{Usage: .75, Capacity: 5, Cost: .25}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 1}},
		{"caution", []capacity.Channel{{Usage: .5, Capacity: 1, Cost: .2, CostSD: .05}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 2}},
		{"no caution", []capacity.Channel{{Usage: .5, Capacity: 1, Cost: .25, CostSD: .05}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{Caution: capacity.NoCaution}, capacity.Avail{Pods: 2}},
		{"memory limits", []capacity.Channel{cpu, {Usage: .9, Capacity: 1, Cost: .1}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 1, Limiting: 1}},
		{"saturated though the model has room", []capacity.Channel{{Usage: .99, Capacity: 50, Cost: .01}}, capacity.Pods{Now: 2, Measured: 4}, capacity.AvailOptions{Allowance: 3}, capacity.Avail{Saturated: true}},
		{"overloaded", []capacity.Channel{{Usage: 1, Capacity: 1, Cost: .25}}, capacity.Pods{Now: 9, Measured: 9}, capacity.AvailOptions{}, capacity.Avail{Pods: -5, Mode: capacity.ModelMode, Saturated: true}},
		{"floor of a light node", []capacity.Channel{{Usage: .1, Capacity: .2, Cost: 2}}, capacity.Pods{}, capacity.AvailOptions{}, capacity.Avail{Pods: 1, Mode: capacity.ModelMode, Floored: true}},
		{"no floor", []capacity.Channel{{Usage: .1, Capacity: .2, Cost: 2}}, capacity.Pods{}, capacity.AvailOptions{FloorBelow: capacity.NoFloor}, capacity.Avail{Pods: .1, Mode: capacity.ModelMode}},
		{"never saturated", []capacity.Channel{{Usage: 1, Capacity: 4, Cost: .25}}, capacity.Pods{Now: 2, Measured: 4}, capacity.AvailOptions{Saturation: capacity.NeverSaturated}, capacity.Avail{Pods: 2}},
		{"never saturated, far beyond full", []capacity.Channel{{Usage: 3, Capacity: 4, Cost: .25}}, capacity.Pods{Now: 2, Measured: 4}, capacity.AvailOptions{Saturation: capacity.NeverSaturated}, capacity.Avail{Pods: 2}},
		{"the floor is taken by a pod not yet shown", []capacity.Channel{{Usage: .1, Capacity: .2, Cost: 2}}, capacity.Pods{Now: 1}, capacity.AvailOptions{}, capacity.Avail{Pods: 0, Mode: capacity.ModelMode, Floored: true}},
		{"no floor where one channel is loaded", []capacity.Channel{{Usage: .6, Capacity: .2, Cost: 2}}, capacity.Pods{}, capacity.AvailOptions{}, capacity.Avail{Pods: .1, Mode: capacity.ModelMode}},
		{"full of short-lived pods", []capacity.Channel{{Usage: 1, Capacity: 1, Cost: .25, ShortLived: true}}, capacity.Pods{Now: 4, Measured: 4}, capacity.AvailOptions{Allowance: 5}, capacity.Avail{Pods: 5, Allowance: 5}},
		{"pods that differ", []capacity.Channel{{Usage: .25, Capacity: 2, Cost: .125, PodSD: .125}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 4}},
		{"pods that differ, near full", []capacity.Channel{{Usage: .75, Capacity: 2, Cost: .125, PodSD: .125}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 1}},
		{"a model of pods that differ", []capacity.Channel{{Usage: 0, Capacity: 1, Cost: .125, PodSD: .125}}, capacity.Pods{Now: 2, Measured: 4}, capacity.AvailOptions{}, capacity.Avail{Pods: 4, Mode: capacity.ModelMode}},
		{"no caution with pods that differ", []capacity.Channel{{Usage: .25, Capacity: 1, Cost: .125, PodSD: .125}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{Caution: capacity.NoCaution}, capacity.Avail{Pods: 6}},
		{"reserve", []capacity.Channel{{Usage: .25, Capacity: 1, Cost: .125, Reserve: .25}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: 4}},
		{"saturated by the reserve", []capacity.Channel{{Usage: .5, Capacity: 1, Cost: .01, Reserve: .5}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Saturated: true}},
		{"no floor beside a reserve", []capacity.Channel{{Usage: .25, Capacity: 1, Cost: .5, Reserve: .5}}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{}, capacity.Avail{Pods: -1, Mode: capacity.ModelMode}},
		{"allowance", []capacity.Channel{cpu}, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{Allowance: 1.5}, capacity.Avail{Pods: 3.5, Allowance: 1.5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := capacity.Available(tt.ch, tt.pods, tt.opt)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, approx); d != "" {
				t.Errorf("Available (-want +got):\n%s", d)
			}
		})
	}
}

func TestAvailableRejects(t *testing.T) {
	ok := capacity.Channel{Usage: .5, Capacity: 1, Cost: .25}
	with := func(edit func(*capacity.Channel)) []capacity.Channel {
		c := ok
		edit(&c)
		return []capacity.Channel{ok, c}
	}
	tests := []struct {
		field string
		ch    []capacity.Channel
		pods  capacity.Pods
		opt   capacity.AvailOptions
	}{
		{"Usage[1]", with(func(c *capacity.Channel) { c.Usage = math.NaN() }), capacity.Pods{}, capacity.AvailOptions{}},
		{"Capacity[1]", with(func(c *capacity.Channel) { c.Capacity = -1 }), capacity.Pods{}, capacity.AvailOptions{}},
		{"Cost[1]", with(func(c *capacity.Channel) { c.Cost = 0 }), capacity.Pods{}, capacity.AvailOptions{}},
		{"CostSD[1]", with(func(c *capacity.Channel) { c.CostSD = math.Inf(1) }), capacity.Pods{}, capacity.AvailOptions{}},
		{"PodSD[1]", with(func(c *capacity.Channel) { c.PodSD = math.NaN() }), capacity.Pods{}, capacity.AvailOptions{}},
		{"Reserve[1]", with(func(c *capacity.Channel) { c.Reserve = 1 }), capacity.Pods{}, capacity.AvailOptions{}},
		{"Pods.Now", nil, capacity.Pods{Now: -1}, capacity.AvailOptions{}},
		{"Pods.Measured", nil, capacity.Pods{Measured: math.NaN()}, capacity.AvailOptions{}},
		{"Caution", nil, capacity.Pods{}, capacity.AvailOptions{Caution: math.NaN()}},
		{"Caution", nil, capacity.Pods{}, capacity.AvailOptions{Caution: -.5}},
		{"Saturation", nil, capacity.Pods{}, capacity.AvailOptions{Saturation: 2.1}},
		{"Saturation", nil, capacity.Pods{}, capacity.AvailOptions{Saturation: -1}},
		{"Saturation", nil, capacity.Pods{}, capacity.AvailOptions{Saturation: math.NaN()}},
		{"FloorBelow", nil, capacity.Pods{}, capacity.AvailOptions{FloorBelow: 2}},
		{"FloorBelow", nil, capacity.Pods{}, capacity.AvailOptions{FloorBelow: -.5}},
		{"FloorBelow", nil, capacity.Pods{}, capacity.AvailOptions{FloorBelow: math.NaN()}},
		{"Allowance", nil, capacity.Pods{}, capacity.AvailOptions{Allowance: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.field, func(t *testing.T) {
			_, err := capacity.Available(tt.ch, tt.pods, tt.opt)
			if !errors.Is(err, capacity.ErrInvalid) || !names(err, tt.field) {
				t.Errorf("error %v, want one of %s", err, tt.field)
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	y, q := []float64{.1, .2, .3, .4}, []float64{.1, .1, .1, .1}
	if n := testing.AllocsPerRun(100, func() { _, _ = capacity.Solve(y, q, capacity.Options{}) }); n != 0 {
		t.Errorf("Solve allocates %v times", n)
	}
	ch := []capacity.Channel{{Usage: .5, Capacity: 1, Cost: .25}, {Usage: .5, Capacity: 1, Cost: .25}}
	if n := testing.AllocsPerRun(100, func() {
		_, _ = capacity.StartupAllowance(capacity.Pace{Ends: 9, Lived: 4, Startup: 1}, capacity.Bounds{Slots: 4, Room: 9, Free: 1}, capacity.AllowanceOptions{})
		_, _, _ = capacity.Headroom(y, q)
	}); n != 0 {
		t.Errorf("StartupAllowance and Headroom allocate %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = capacity.Available(ch, capacity.Pods{}, capacity.AvailOptions{}) }); n != 0 {
		t.Errorf("Available allocates %v times", n)
	}
}

// names reports whether err is one of package capacity about the field.
func names(err error, field string) bool {
	return err != nil && strings.Contains(err.Error(), "capacity: "+field+" = ")
}
