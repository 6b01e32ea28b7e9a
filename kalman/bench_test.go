package kalman_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// observations are of a node whose pods come and go, so that a benchmark takes the branches of a real
// node.
func observations(channels int) []kalman.Observation {
	rng := rand.New(rand.NewPCG(41, 42))
	all := make([]kalman.Observation, 0, 1024)
	trace(rng, cap(all), func(int) float64 { return .1 }, func(_ int, z, n float64) {
		o := kalman.Observation{Pods: n, Headroom: make([]float64, channels)}
		for i := range o.Headroom {
			o.Headroom[i] = z
		}
		all = append(all, o)
	})
	return all
}

// BenchmarkStep makes a step of every channel with all gates, its estimate and the pooling with the
// fleet's cost.
func BenchmarkStep(b *testing.B) {
	b.Run("centred/d=4", func(b *testing.B) {
		const channels = 4
		configs := make([]kalman.Config, channels)
		for i := range configs {
			configs[i] = kalman.Config{Prior: .1}
		}
		p, err := kalman.NewPerChannel(configs...)
		if err != nil {
			b.Fatal(err)
		}
		all, dst := observations(channels), make([]kalman.Estimate, channels)
		fleet := kalman.Fleet{Cost: .12, SD: .02}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if err := p.Step(all[i&1023]); err != nil {
				b.Fatal(err)
			}
			dst = p.EstimatesTo(dst)
			for j := range dst {
				dst[j] = kalman.Pool(dst[j], fleet, 0, 0)
			}
			i++
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/channels, "ns/channel")
	})
}

func TestStepAllocates(t *testing.T) {
	p, err := kalman.NewPerChannel(kalman.Config{}, kalman.Config{})
	if err != nil {
		t.Fatal(err)
	}
	all, dst, verdicts, i := observations(2), make([]kalman.Estimate, 2), make([]kalman.Verdict, 2), 0
	fleet := kalman.Fleet{Cost: .2}
	var s kalman.State
	n := testing.AllocsPerRun(500, func() {
		o := all[i&1023]
		_ = p.Step(o)
		p.VerdictsTo(verdicts)
		dst = p.EstimatesTo(dst)
		dst[0] = kalman.Pool(dst[0], fleet, 0, 0)
		s, _, _ = kalman.Step(s, o.Headroom[0], o.Pods, kalman.Config{})
		i++
	})
	if n != 0 {
		t.Errorf("Step, EstimatesTo, VerdictsTo and Pool: got %v allocations", n)
	}
}
