package pronto_test

import (
	"fmt"
	"testing"

	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

func BenchmarkDetector(b *testing.B) {
	for _, lag := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("lag=%d", lag), func(b *testing.B) {
			d, err := pronto.NewDetector(pronto.DetectorConfig{Lag: lag})
			if err != nil {
				b.Fatal(err)
			}
			src := newSource(1, 1, .1)
			values := make([]float64, 1000)
			for i := range values {
				values[i] = src.draw()[0]
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := d.Step(values[i%len(values)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStep is a sample: projection and detectors, with its share of a block's update, and,
// adopted, a thousandth of an update and no change of basis.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		block   int
		adopted bool
	}{{10, false}, {30, false}, {100, false}, {1000, true}} {
		b.Run(fmt.Sprintf("d=8/r=4/b=%d/adopted=%v", c.block, c.adopted), func(b *testing.B) {
			tracker, err := pronto.New(pronto.Config{Model: svd.Options{Rank: 4, Block: c.block}})
			if err != nil {
				b.Fatal(err)
			}
			src := newSource(1, 8, 1, .5, .3, .2, .1, .1, .1, .1)
			samples := make([][]float64, 1000)
			for i := range samples {
				samples[i] = src.draw()
			}
			if c.adopted {
				fleet, err := svd.Update(svd.Model{}, samples[:10], svd.Options{Rank: 4, Centre: true})
				if err == nil {
					err = tracker.Adopt(fleet)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			var s pronto.Signal
			for i := range samples {
				if err := tracker.StepTo(&s, at(i), samples[i]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for i := len(samples); b.Loop(); i++ {
				if err := tracker.StepTo(&s, at(i), samples[i%len(samples)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
