package capacity_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

func BenchmarkSolve(b *testing.B) {
	y, q := []float64{.1, .2, .3, .4}, []float64{.1, .1, .1, .1}
	b.Run("d=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = capacity.Solve(y, q, capacity.Options{})
		}
	})
}

func BenchmarkAvailable(b *testing.B) {
	ch := []capacity.Channel{
		{Usage: .1, Capacity: 1, Cost: .1, CostSD: .01}, {Usage: .2, Capacity: 1, Cost: .1, CostSD: .01},
		{Usage: .3, Capacity: 1, Cost: .1, CostSD: .01, PodSD: .1}, {Usage: .4, Capacity: 1, Cost: .1, CostSD: .01},
	}
	b.Run("d=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = capacity.Available(ch, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{})
		}
	})
}

func BenchmarkStartupAllowance(b *testing.B) {
	b.ReportAllocs()
	p, bounds := capacity.Pace{Ends: 30, Lived: 40, Startup: 1}, capacity.Bounds{Slots: 4, Room: 8, Free: .9}
	for b.Loop() {
		_, _ = capacity.StartupAllowance(p, bounds, capacity.AllowanceOptions{})
	}
}
