package capacity_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

func TestStartupAllowance(t *testing.T) {
	node := capacity.Bounds{Slots: 4, Room: math.Inf(1), Free: 1}
	pace := capacity.Pace{Ends: 21, Lived: 20, Startup: 1.25} // a pod runs for a second
	tests := []struct {
		name string
		pace capacity.Pace
		node capacity.Bounds
		opt  capacity.AllowanceOptions
		want float64
	}{
		{"bandwidth times delay", pace, node, capacity.AllowanceOptions{}, 5},
		{"nothing seen", capacity.Pace{Startup: 1}, node, capacity.AllowanceOptions{}, 0},
		{"one end says nothing", capacity.Pace{Ends: 1, Lived: .1, Startup: 1}, node, capacity.AllowanceOptions{}, 0},
		{"long pods", capacity.Pace{Ends: 21, Lived: 200, Startup: 1.25}, node, capacity.AllowanceOptions{}, 0},
		{"four pods a slot", capacity.Pace{Ends: 21, Lived: 2, Startup: 1}, node, capacity.AllowanceOptions{}, 16},
		{"two pods a slot", capacity.Pace{Ends: 21, Lived: 2, Startup: 1}, node, capacity.AllowanceOptions{MostPerSlot: 2}, 8},
		{"ends in no time", capacity.Pace{Ends: 3, Lived: 5e-324, Startup: 1}, node, capacity.AllowanceOptions{}, 16},
		{"off", pace, node, capacity.AllowanceOptions{MostPerSlot: capacity.NoAllowance}, 0},
		{"no slots", pace, capacity.Bounds{Room: 9, Free: 1}, capacity.AllowanceOptions{}, 0},
		{"memory leaves room for two", pace, capacity.Bounds{Slots: 4, Room: 2, Free: 1}, capacity.AllowanceOptions{}, 2},
		{"memory leaves none", pace, capacity.Bounds{Slots: 4, Room: -3, Free: 1}, capacity.AllowanceOptions{}, 0},
		{"memory half free", pace, capacity.Bounds{Slots: 4, Room: math.Inf(1), Free: .5}, capacity.AllowanceOptions{}, 5},
		{"memory a fifth free", pace, capacity.Bounds{Slots: 4, Room: math.Inf(1), Free: .2}, capacity.AllowanceOptions{}, 2},
		{"memory full", pace, capacity.Bounds{Slots: 4, Room: math.Inf(1)}, capacity.AllowanceOptions{}, 0},
	}
	for _, test := range tests {
		got, err := capacity.StartupAllowance(test.pace, test.node, test.opt)
		if err != nil || math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", test.name, got, err, test.want)
		}
	}
}

// A bound is in its range, or the one that switches the allowance off.
func TestAllowanceOptionsValidate(t *testing.T) {
	for _, most := range []float64{-2, -5e-324, 1.1e6, math.NaN(), math.Inf(1)} {
		if err := (capacity.AllowanceOptions{MostPerSlot: most}).Validate(); !names(err, "MostPerSlot") {
			t.Errorf("%v pods a slot: error %v", most, err)
		}
	}
	for _, most := range []float64{0, 1e6, capacity.NoAllowance} {
		if err := (capacity.AllowanceOptions{MostPerSlot: most}).Validate(); err != nil {
			t.Errorf("%v pods a slot: error %v", most, err)
		}
	}
}

func TestStartupAllowanceRefuses(t *testing.T) {
	node, pace := capacity.Bounds{Slots: 4, Room: 1, Free: 1}, capacity.Pace{Ends: 2, Lived: 2, Startup: 1}
	tests := map[string]func(*capacity.Pace, *capacity.Bounds, *capacity.AllowanceOptions){
		"Ends":        func(p *capacity.Pace, _ *capacity.Bounds, _ *capacity.AllowanceOptions) { p.Ends = -1 },
		"Lived":       func(p *capacity.Pace, _ *capacity.Bounds, _ *capacity.AllowanceOptions) { p.Lived = math.NaN() },
		"Startup":     func(p *capacity.Pace, _ *capacity.Bounds, _ *capacity.AllowanceOptions) { p.Startup = math.Inf(1) },
		"Slots":       func(_ *capacity.Pace, b *capacity.Bounds, _ *capacity.AllowanceOptions) { b.Slots = -1 },
		"Free":        func(_ *capacity.Pace, b *capacity.Bounds, _ *capacity.AllowanceOptions) { b.Free = math.NaN() },
		"Room":        func(_ *capacity.Pace, b *capacity.Bounds, _ *capacity.AllowanceOptions) { b.Room = math.NaN() },
		"MostPerSlot": func(_ *capacity.Pace, _ *capacity.Bounds, o *capacity.AllowanceOptions) { o.MostPerSlot = -2 },
	}
	for field, spoil := range tests {
		p, b, o := pace, node, capacity.AllowanceOptions{}
		spoil(&p, &b, &o)
		if pods, err := capacity.StartupAllowance(p, b, o); !names(err, field) || pods != 0 {
			t.Errorf("%s: %v pods, error %v", field, pods, err)
		}
	}
}

// Of pods with random run times the first to end are the short ones. The rate of
// ends counts the time of all, so it is right on average however few have ended.
func TestEndRateIsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	const mean, pods, trials = 10., 4, 40_000
	for _, ends := range []int{2, 3, 8} {
		sum := 0.
		for range trials {
			p := capacity.Pace{Ends: float64(ends)}
			for range ends { // pods that end are replaced: the next end comes after mean/pods
				p.Lived += pods * rng.ExpFloat64() * mean / pods
			}
			sum += p.EndRate()
		}
		// Of two ends the rate has no finite deviation, so the mean settles slowly.
		if rate := sum / trials; math.Abs(rate*mean-1) > .1 {
			t.Errorf("%d ends: mean rate %v, want %v", ends, rate, 1/mean)
		}
	}
}

// The allowance grows with what it is made of and shrinks as pods slow down.
func TestStartupAllowanceIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	allow := func(p capacity.Pace, b capacity.Bounds) float64 {
		a, err := capacity.StartupAllowance(p, b, capacity.AllowanceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for range 5000 {
		p := capacity.Pace{Ends: 20 * rng.Float64(), Lived: 50 * rng.Float64(), Startup: 3 * rng.Float64()}
		b := capacity.Bounds{Slots: 16 * rng.Float64(), Room: 40 * rng.Float64(), Free: rng.Float64()}
		a := allow(p, b)
		slower := p
		slower.Lived *= 1 + rng.Float64()
		if s := allow(slower, b); s > a {
			t.Fatalf("%+v %+v: %v, with slower pods %v", p, b, a, s)
		}
		more := b
		more.Slots, more.Room, more.Free = b.Slots+rng.Float64(), b.Room+rng.Float64(), min(1, b.Free+rng.Float64())
		if m := allow(p, more); m < a {
			t.Fatalf("%+v %+v: %v, with more room %v", p, b, a, m)
		}
	}
}
