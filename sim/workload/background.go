package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/sim"
)

// Background makes a series a node from recordings; sizes are the nodes' cores. Each
// node plays one drawn by chance, from a random moment on, speed times as fast. All are
// scaled alike and cut at the node's cores so that what is left takes the share mean of
// all cores.
func Background(seed uint64, traces []Utilisation, sizes []int, mean, speed, duration float64) ([]sim.Series, error) {
	if err := checked(Equal, "mean", mean, "speed", speed, "duration", duration); err != nil {
		return nil, err
	}
	if mean >= 1 {
		return nil, refuse("mean", mean, "below 1")
	}
	if len(traces) == 0 {
		return nil, fmt.Errorf("%w: none", ErrTrace)
	}
	rng := rand.New(rand.NewPCG(seed, 105))
	series := make([]sim.Series, len(sizes))
	for i := range series {
		t := traces[rng.IntN(len(traces))]
		s := sim.Series{Step: t.step / speed}
		from := rng.IntN(len(t.share))
		steps := int(math.Min(math.Ceil(duration/s.Step)+1, maxTraceRows))
		for k := range steps {
			s.Cores = append(s.Cores, t.share[(from+k)%len(t.share)])
		}
		series[i] = s
	}
	scale, ok := scaleTo(mean, series, sizes)
	if !ok {
		return nil, fmt.Errorf("%w: it idles too much for a mean of %g", ErrTrace, mean)
	}
	for i, s := range series {
		for k, share := range s.Cores {
			s.Cores[k] = math.Min(share*scale, 1) * float64(sizes[i])
		}
	}
	return series, nil
}

// scaleTo finds the factor with which the series, shares of their nodes' cores, take
// the mean of all cores on average after each is cut at its node's.
func scaleTo(mean float64, series []sim.Series, sizes []int) (float64, bool) {
	taken := func(scale float64) float64 {
		sum, cores := 0., 0.
		for i, s := range series {
			node := 0.
			for _, share := range s.Cores {
				node += math.Min(share*scale, 1)
			}
			sum += float64(sizes[i]) * node / float64(len(s.Cores))
			cores += float64(sizes[i])
		}
		return sum / cores
	}
	low, high := 0., 1.
	for ; taken(high) < mean; high *= 2 {
		if high > 1e12 {
			return 0, false
		}
	}
	for range 100 {
		if middle := (low + high) / 2; taken(middle) < mean {
			low = middle
		} else {
			high = middle
		}
	}
	return high, true
}
