package capacity_test

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

// TestSolveBounds: demand up to ε does not limit, ties go to the lower channel,
// and what lies at a bound is taken.
func TestSolveBounds(t *testing.T) {
	const most = math.MaxFloat64
	for name, tt := range map[string]struct {
		y, q []float64
		o    capacity.Options
		want capacity.Result
	}{
		"below the default ε": {[]float64{.5, 1 - 1e-9}, []float64{.1, 5e-7}, capacity.Options{}, capacity.Result{K: 5, Limiting: 0}},
		"above the default ε": {[]float64{.5, 1 - 5e-6}, []float64{.1, 5e-6}, capacity.Options{}, capacity.Result{K: 1, Limiting: 1}},
		"ε of one's own":      {[]float64{.5, .9}, []float64{.25, .1}, capacity.Options{Epsilon: .1}, capacity.Result{K: 2, Limiting: 0}},
		"a tie":               {[]float64{.5, .5}, []float64{.25, .25}, capacity.Options{}, capacity.Result{K: 2, Limiting: 0}},
		"just Max":            {[]float64{.5}, []float64{.25}, capacity.Options{Max: 2}, capacity.Result{K: 2, Limiting: 0}},
		"more than Max":       {[]float64{.5}, []float64{.125}, capacity.Options{Max: 2}, capacity.Result{K: 2, Limiting: 0, Flags: capacity.Clamped}},
		"largest numbers":     {[]float64{most, -most}, []float64{most, most}, capacity.Options{}, capacity.Result{K: 0, Limiting: 0, Flags: capacity.Full}},
	} {
		got, err := capacity.Solve(tt.y, tt.q, tt.o)
		if err != nil || math.Abs(got.K-tt.want.K) > 1e-9 || got.Limiting != tt.want.Limiting || got.Flags != tt.want.Flags {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
}

func TestHeadroomBounds(t *testing.T) {
	const most = math.MaxFloat64
	for name, tt := range map[string]struct {
		y, u     []float64
		h        float64
		limiting int
	}{
		"a direction of ε":  {[]float64{.5, 1 - 1e-9}, []float64{1, capacity.DefaultEpsilon}, .5, 0},
		"a tie":             {[]float64{.5, .5}, []float64{.5, .5}, 1, 0},
		"largest numbers":   {[]float64{-most, most}, []float64{most, most}, 0, 1},
		"opposite to usage": {[]float64{.5, .5}, []float64{.5, -most}, 1, 0},
	} {
		h, limiting, err := capacity.Headroom(tt.y, tt.u)
		if err != nil || h != tt.h || limiting != tt.limiting {
			t.Errorf("%s: %v in %d, %v, want %v in %d", name, h, limiting, err, tt.h, tt.limiting)
		}
	}
}

// TestAvailableBounds: at the saturation a channel is full, at the usage of the
// floor a node is not light, and a room of one pod needs no floor.
func TestAvailableBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		ch   []capacity.Channel
		o    capacity.AvailOptions
		want capacity.Avail
	}{
		"saturated":    {[]capacity.Channel{{Usage: .75, Capacity: 1, Cost: .125}}, capacity.AvailOptions{Saturation: .75}, capacity.Avail{Saturated: true}},
		"full at 1":    {[]capacity.Channel{{Usage: 1, Capacity: 1, Cost: .125}}, capacity.AvailOptions{Saturation: 1}, capacity.Avail{Saturated: true}},
		"not light":    {[]capacity.Channel{{Usage: .5, Capacity: 1, Cost: 1}}, capacity.AvailOptions{}, capacity.Avail{Pods: .5}},
		"light":        {[]capacity.Channel{{Usage: .25, Capacity: 1, Cost: 1}}, capacity.AvailOptions{}, capacity.Avail{Pods: 1, Floored: true}},
		"always":       {[]capacity.Channel{{Usage: .75, Capacity: 1, Cost: 1}}, capacity.AvailOptions{FloorBelow: 1}, capacity.Avail{Pods: 1, Floored: true}},
		"one pod":      {[]capacity.Channel{{Usage: .25, Capacity: 1, Cost: .75}}, capacity.AvailOptions{}, capacity.Avail{Pods: 1}},
		"lower of tie": {[]capacity.Channel{{Usage: .5, Capacity: 1, Cost: .25}, {Usage: .5, Capacity: 1, Cost: .25}}, capacity.AvailOptions{}, capacity.Avail{Pods: 2}},
	} {
		got, err := capacity.Available(tt.ch, capacity.Pods{}, tt.o)
		if err != nil || got.Pods != tt.want.Pods || got.Saturated != tt.want.Saturated || got.Floored != tt.want.Floored || got.Limiting != 0 {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
}

// TestEndRateBounds: less than two ends, or no time lived, say nothing.
func TestEndRateBounds(t *testing.T) {
	for _, p := range []capacity.Pace{{Ends: .5, Lived: 10}, {Ends: 1, Lived: 10}, {Ends: 5}} {
		if rate := p.EndRate(); rate != 0 || p.ShortLived() {
			t.Errorf("%+v: %v ends a second", p, rate)
		}
	}
	if p := (capacity.Pace{Ends: 2, Lived: 4, Startup: 4}); !p.ShortLived() {
		t.Errorf("%+v: pods that run for just a start-up do not count as fleeting", p)
	}
}

// TestStartupAllowanceBounds: one pod ahead is granted, and no number is too
// large.
func TestStartupAllowanceBounds(t *testing.T) {
	pace := capacity.Pace{Ends: 3, Lived: 4, Startup: 2}
	if got, err := capacity.StartupAllowance(pace, capacity.Bounds{Slots: 1, Room: 5, Free: 1}, capacity.AllowanceOptions{}); err != nil || got != 1 {
		t.Errorf("one slot: %v, %v, want 1", got, err)
	}
	pace.Lived = math.MaxFloat64
	if got, err := capacity.StartupAllowance(pace, capacity.Bounds{Slots: 1, Room: 5, Free: 1}, capacity.AllowanceOptions{}); err != nil || got != 0 {
		t.Errorf("pods that live for ever: %v, %v, want 0", got, err)
	}
}
