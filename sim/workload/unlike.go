package workload

import (
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim"
)

// Workloads says what the pods of Unlike are of. A zero field takes its default.
type Workloads struct {
	// Count is their number; default 20.
	Count int
	// CoresLeast and CoresMost are what they take of the CPU, in cores, MemoryLeast
	// and MemoryMost of the memory, in shares of a node's: a number each that is
	// log-uniform between the two. Defaults .05 and 1, .003 and .3.
	CoresLeast, CoresMost, MemoryLeast, MemoryMost float64
	// Spread is by how much a pod may differ from its workload either way, as a share;
	// default .2.
	Spread float64
	// Ramp is the time in seconds over which pods take their memory; default 5.
	Ramp float64
	// OneOff has every pod be a workload of its own, as far as anybody knows.
	OneOff bool
}

func (w Workloads) withDefaults() Workloads {
	if w.Count == 0 {
		w.Count = 20
	}
	setDefault(&w.CoresLeast, .05)
	setDefault(&w.CoresMost, 1)
	setDefault(&w.MemoryLeast, .003)
	setDefault(&w.MemoryMost, .3)
	setDefault(&w.Spread, .2)
	setDefault(&w.Ramp, 5)
	return w
}

func (w Workloads) validate(memory float64) error {
	if w.Count < 1 || w.Count > maxPods {
		return refuse("workloads", w.Count, fmt.Sprintf("1 to %d", maxPods))
	}
	if !(w.Spread < 1) {
		return refuse("spread", w.Spread, "below 1")
	}
	return checked(Equal, "cores", w.CoresLeast, "cores", w.CoresMost, "memory", w.MemoryLeast, "memory", w.MemoryMost,
		"spread", w.Spread, "ramp", w.Ramp, "memory", memory)
}

// kindOf is what the pods of a workload take in the mean.
type kindOf struct{ cores, memory float64 }

// kinds draws the workloads.
func (w Workloads) kinds(s streams, memory float64) []kindOf {
	between := func(least, most float64) float64 {
		return least * math.Pow(most/least, s.choices.Float64())
	}
	kinds := make([]kindOf, w.Count)
	for i := range kinds {
		kinds[i] = kindOf{between(w.CoresLeast, w.CoresMost), memory * between(w.MemoryLeast, w.MemoryMost)}
	}
	return kinds
}

// assign makes each pod one of a workload drawn by chance. Its work is taken for the
// seconds that it runs alone.
func (w Workloads) assign(s streams, pods []sim.Pod, kinds []kindOf) {
	vary := func(of float64) float64 { return of * (1 + w.Spread*(2*s.choices.Float64()-1)) }
	for i := range pods {
		p := &pods[i]
		n := s.choices.IntN(len(kinds))
		p.Workload = fmt.Sprintf("workload-%02d", n)
		if w.OneOff {
			p.Workload = fmt.Sprintf("one-off-%05d", i)
		}
		p.Cores = vary(kinds[n].cores)
		p.Memory, p.Ramp = math.Round(vary(kinds[n].memory)), w.Ramp
		p.Work = max(p.Work*p.Cores, shortest)
	}
}

// Unlike is a batch of n pods of few workloads that have little in common, for nodes of
// the given memory in bytes. A pod runs alone for the given mean time, in seconds.
func Unlike(seed uint64, n int, seconds float64, law Law, memory float64, w Workloads) ([]sim.Pod, error) {
	w = w.withDefaults()
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
	w = w.withDefaults()
	if err := w.validate(memory); err != nil {
		return nil, err
	}
	s := newStreams(seed)
	kinds := w.kinds(s, memory)
	mean := 0.
	for _, k := range kinds {
		mean += k.cores / float64(len(kinds))
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
