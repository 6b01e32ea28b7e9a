package capacity_test

import (
	"math"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

func FuzzSolve(f *testing.F) {
	f.Add(.5, .2, .25, .1, 0.0, 0.0)
	f.Add(1.0, 1.0, 0.0, math.MaxFloat64, 1e-300, math.MaxFloat64)
	f.Fuzz(func(t *testing.T, y0, y1, q0, q1, eps, most float64) {
		o := capacity.Options{Epsilon: eps, Max: most}
		r, err := capacity.Solve([]float64{y0, y1}, []float64{q0, q1}, o)
		if math.IsNaN(r.K) || math.IsInf(r.K, 0) || r.K < 0 {
			t.Fatalf("k = %v", r.K)
		}
		if err != nil && r != (capacity.Result{}) {
			t.Fatalf("%+v beside %v", r, err)
		}
		if r.Limiting < -1 || r.Limiting > 1 {
			t.Fatalf("limiting channel %d of 2", r.Limiting)
		}
	})
}

func FuzzAvailable(f *testing.F) {
	f.Add(.5, 1.0, .25, .01, .9, .5, .1, 0.0, 2.0, 2.0, 1.0, .98, .5, .1, .2, uint8(0))
	f.Add(math.MaxFloat64, math.MaxFloat64, 5e-324, math.MaxFloat64, 0.0, 0.0, 5e-324, 0.0, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, 0.0, 0.0, math.MaxFloat64, 0.0, uint8(23))
	f.Fuzz(func(t *testing.T, y0, c0, cost0, sd0, y1, c1, cost1, sd1, now, measured, caution, saturation, allowance, pod, reserve float64, bits uint8) {
		ch := []capacity.Channel{
			{Usage: y0, Capacity: c0, Cost: cost0, CostSD: sd0, PodSD: pod, Reserve: reserve},
			{Usage: y1, Capacity: c1, Cost: cost1, CostSD: sd1, Slots: pod},
		}
		before := slices.Clone(ch)
		o := capacity.AvailOptions{Caution: caution, Saturation: saturation, Allowance: allowance}
		if bits&8 > 0 {
			o.Caution = capacity.NoCaution
		}
		if bits&16 > 0 {
			o.Saturation = capacity.NeverSaturated
		}
		if bits&32 > 0 {
			o.FloorBelow = capacity.NoFloor
		}
		a, err := capacity.Available(ch, capacity.Pods{Now: now, Measured: measured}, o)
		if math.IsNaN(a.Pods) || math.IsInf(a.Pods, 0) {
			t.Fatalf("avail = %v", a.Pods)
		}
		if err == nil && a.Saturated && (a.Pods > 0 || a.Allowance > 0) {
			t.Fatalf("%+v on a saturated node", a)
		}
		if err == nil && !slices.Equal(before, ch) {
			t.Fatal("the channels changed")
		}
	})
}

func FuzzHeadroom(f *testing.F) {
	f.Add(.5, .2, .6, .8)
	f.Fuzz(func(t *testing.T, y0, y1, u0, u1 float64) {
		h, limiting, err := capacity.Headroom([]float64{y0, y1}, []float64{u0, u1})
		if !(h >= 0) || math.IsInf(h, 1) && err == nil && limiting >= 0 {
			t.Fatalf("h = %v by %d, %v", h, limiting, err)
		}
	})
}

func FuzzStartupAllowance(f *testing.F) {
	f.Add(5.0, 8.0, 1.0, 4.0, 2.0, .9, 0.0)
	f.Add(math.MaxFloat64, 5e-324, math.MaxFloat64, math.MaxFloat64, math.Inf(1), 0.0, 1e6)
	f.Fuzz(func(t *testing.T, ends, lived, startup, slots, room, free, most float64) {
		p, b := capacity.Pace{Ends: ends, Lived: lived, Startup: startup}, capacity.Bounds{Slots: slots, Room: room, Free: free}
		pods, err := capacity.StartupAllowance(p, b, capacity.AllowanceOptions{MostPerSlot: most})
		if !(pods >= 0) || math.IsInf(pods, 1) || err != nil && pods != 0 {
			t.Fatalf("%v pods, error %v", pods, err)
		}
		if err == nil && pods > 0 && (pods < 1 || pods > room) {
			t.Fatalf("%v pods where %v fit", pods, room)
		}
	})
}
