package workload

import (
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// What follows an init container: the kubelet looks once a second at what has
// ended, and starts the next.
const (
	initGapLeast = .3
	initGapMost  = 1.3
)

// Initialise returns the pods with an init container each that takes the given
// number of cores, 0 to 1, for a time between the shortest and the longest, in
// seconds.
func Initialise(seed uint64, pods []sim.Pod, shortest, longest, cores float64) ([]sim.Pod, error) {
	for _, f := range []struct {
		name       string
		value      float64
		low, limit float64
		want       string
	}{
		{"shortest", shortest, 0, math.MaxFloat64, "a finite number of seconds ≥ 0"},
		{"longest", longest, shortest, math.MaxFloat64, "a finite number of seconds, at least the shortest"},
		{"cores", cores, 0, 1, "0 to 1"},
	} {
		if !(f.value >= f.low && f.value <= f.limit) {
			return nil, refuse(f.name, f.value, f.want)
		}
	}
	inits := newStreams(seed).inits
	pods = slices.Clone(pods)
	for i := range pods {
		pods[i].Init = node.Init{
			Containers: 1, Cores: cores,
			Seconds: shortest + (longest-shortest)*inits.Float64(),
			Gap:     initGapLeast + (initGapMost-initGapLeast)*inits.Float64(),
		}
	}
	return pods, nil
}
