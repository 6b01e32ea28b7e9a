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
	ch := []capacity.Channel{{.1, 1, .1, .01}, {.2, 1, .1, .01}, {.3, 1, .1, .01}, {.4, 1, .1, .01}}
	b.Run("d=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = capacity.Available(ch, capacity.Pods{Now: 2, Measured: 2}, capacity.AvailOptions{})
		}
	})
}

func BenchmarkStepOverprovision(b *testing.B) {
	b.ReportAllocs()
	var s capacity.Overprovision
	for b.Loop() {
		s, _, _ = capacity.StepOverprovision(s, 3, capacity.OverprovisionConfig{})
	}
}
