package workload

import (
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim"
)

// Workloads describes what the pods of Unlike are of.
type Workloads struct {
	// Ramp is the time in seconds over which pods take their memory; 0 means 5.
	Ramp float64
	// OneOff has every pod be a workload of its own, as far as anybody knows.
	OneOff bool
	// Lives is how many times as long the pods of one workload live as those of another at most, at
	// least 1; 0 means 1.
	Lives float64
}

// What the workloads of Unlike take: of the CPU in cores, of the memory in shares of a node's, a number
// each that is log-uniform between the two. A pod differs from its workload by at most kindSpread of it.
const (
	kindCount                    = 20
	kindCoresMin, kindCoresMax   = .05, 1
	kindMemoryMin, kindMemoryMax = .003, .3
	kindSpread                   = .2
)

func (w Workloads) validate(memory float64) error {
	setDefault(&w.Ramp, defaultRamp)
	if w.Lives != 0 && !(w.Lives >= 1) {
		return refuse("lives", w.Lives, "at least 1, or 0 for the default")
	}
	return checked(Equal, "ramp", w.Ramp, "memory", memory)
}

// kindOf is what the pods of a workload take in the mean, and how many times as long as others they
// live.
type kindOf struct{ cores, memory, life float64 }

// kinds draws the workloads.
func (w Workloads) kinds(s streams, memory float64) []kindOf {
	between := func(low, high float64) float64 { return low * math.Pow(high/low, s.choices.Float64()) }
	kinds := make([]kindOf, kindCount)
	for i := range kinds {
		kinds[i] = kindOf{between(kindCoresMin, kindCoresMax), memory * between(kindMemoryMin, kindMemoryMax), 1}
	}
	if w.Lives <= 1 {
		return kinds
	}
	mean := 0.
	for i := range kinds {
		kinds[i].life = between(1, w.Lives)
		mean += kinds[i].life / kindCount
	}
	for i := range kinds {
		kinds[i].life /= mean
	}
	return kinds
}

// assign makes each pod one of a workload drawn by chance. Its work is taken for the
// seconds that it runs alone.
func (w Workloads) assign(s streams, pods []sim.Pod, kinds []kindOf) {
	setDefault(&w.Ramp, defaultRamp)
	vary := func(of float64) float64 { return of * (1 + kindSpread*(2*s.choices.Float64()-1)) }
	for i := range pods {
		p := &pods[i]
		n := s.choices.IntN(len(kinds))
		p.Workload = fmt.Sprintf("workload-%02d", n)
		if w.OneOff {
			p.Workload = fmt.Sprintf("one-off-%05d", i)
		}
		p.Cores = vary(kinds[n].cores)
		p.Memory, p.Ramp = math.Round(vary(kinds[n].memory)), w.Ramp
		p.Work = max(p.Work*p.Cores*kinds[n].life, shortest)
	}
}

// Unlike is a batch of n pods of few workloads that have little in common, for nodes of
// the given memory in bytes. A pod runs alone for the given mean time, in seconds.
func Unlike(seed uint64, n int, seconds float64, law Law, memory float64, w Workloads) ([]sim.Pod, error) {
	if err := w.validate(memory); err != nil {
		return nil, err
	}
	pods, err := Batch(seed, n, seconds, law)
	if err != nil {
		return nil, err
	}
	s := newStreams(seed)
	w.assign(s, pods, w.kinds(s, memory))
	return pods, nil
}

// UnlikeArrivals are such pods that arrive at random for the given duration, at a rate
// that takes the given share, load, of the cores.
func UnlikeArrivals(seed uint64, load, cores, seconds, duration float64, law Law, memory float64, w Workloads) ([]sim.Pod, error) {
	if err := w.validate(memory); err != nil {
		return nil, err
	}
	s := newStreams(seed)
	kinds := w.kinds(s, memory)
	mean := 0.
	for _, k := range kinds {
		mean += k.cores * k.life / float64(len(kinds))
	}
	pods, err := Poisson(seed, load, cores/mean, seconds, duration, law)
	if err != nil {
		return nil, err
	}
	w.assign(s, pods, kinds)
	return pods, nil
}

// Nightly returns the pods with so many times the memory, no more than most bytes, where
// they are created in the second half of a day of so many seconds.
func Nightly(pods []sim.Pod, day, times, most float64) []sim.Pod {
	pods = slices.Clone(pods)
	for i := range pods {
		if p := &pods[i]; math.Mod(p.Created, day) >= day/2 {
			p.Memory = math.Min(p.Memory*times, most)
		}
	}
	return pods
}

// RollOut returns the pods with so many times the memory, no more than most bytes, and the
// revision "new", where they are created from a time on.
func RollOut(pods []sim.Pod, from, times, most float64) []sim.Pod {
	pods = slices.Clone(pods)
	for i := range pods {
		if p := &pods[i]; p.Created >= from {
			p.Memory, p.Revision = math.Min(p.Memory*times, most), "new"
		}
	}
	return pods
}
