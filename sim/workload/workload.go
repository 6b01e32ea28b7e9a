// Package workload makes the pods of a simulation: batches, Poisson arrivals,
// mixes that press on memory, pods whose demand changes, servers beside a batch,
// services with a daily load, and loads replayed from traces. It reads the formats of
// five public traces: EC2 CPU utilisation as in NAB (realAWSCloudwatch), GWA-T-12
// Bitbrains, Azure Functions 2019, and Alibaba's clusters of 2018 and 2023, to which
// generators are fitted here. ReadPods reads anybody's pods.
//
// Everything depends on its arguments alone. Arrivals, works, start-up latencies
// and choices each have a stream of random numbers of their own, so one setting
// does not change what the others draw, and every scheduler gets the same work
// for the same seed. Times are in seconds, work in core-seconds, memory in bytes.
//
// Types that do not speak of concurrent use are plain values.
package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Law is the distribution of the pods' work; all have the given mean.
type Law string

// The laws of work.
const (
	Equal       Law = "equal"
	Exponential Law = "exponential"
)

// Laws lists them.
func Laws() []Law { return []Law{Equal, Exponential} }

// shortest is the least work of a pod in core-seconds: a pod of none has no
// slowdown to speak of.
const shortest = 1e-3

// streams of a seed.
type streams struct{ arrivals, works, startups, choices *rand.Rand }

func newStreams(seed uint64) streams {
	return streams{
		arrivals: rand.New(rand.NewPCG(seed, 101)), works: rand.New(rand.NewPCG(seed, 102)),
		startups: rand.New(rand.NewPCG(seed, 103)), choices: rand.New(rand.NewPCG(seed, 104)),
	}
}

func (s streams) pod(created, work float64, law Law) sim.Pod {
	if law == Exponential {
		work *= s.works.ExpFloat64()
	}
	return sim.Pod{Created: created, Work: math.Max(work, shortest), Startup: node.StartupLatency(s.startups)}
}

func positive(name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return refuse(name, v, "a finite number above 0")
	}
	return nil
}

func checked(law Law, fields ...any) error {
	for i := 0; i < len(fields); i += 2 {
		if err := positive(fields[i].(string), fields[i+1].(float64)); err != nil {
			return err
		}
	}
	if law != Equal && law != Exponential {
		return refuse("law", law, "equal or exponential")
	}
	return nil
}

// maxPods bounds a workload.
const maxPods = 10_000_000

// Batch is n single-threaded pods of the given mean work, all created at 0. Errors of this
// and the other makers of pods are a *field.Error.
func Batch(seed uint64, n int, work float64, law Law) ([]sim.Pod, error) {
	if err := checked(law, "work", work); err != nil {
		return nil, err
	}
	if n < 1 || n > maxPods {
		return nil, refuse("pods", n, fmt.Sprintf("1 to %d", maxPods))
	}
	s := newStreams(seed)
	pods := make([]sim.Pod, n)
	for i := range pods {
		pods[i] = s.pod(0, work, law)
	}
	return pods, nil
}

// Poisson is single-threaded pods of the given mean work that arrive at random for the
// given duration, at a rate that takes the given share, load, of the cores.
func Poisson(seed uint64, load, cores, work, duration float64, law Law) ([]sim.Pod, error) {
	if err := checked(law, "load", load, "cores", cores, "work", work, "duration", duration); err != nil {
		return nil, err
	}
	rate := load * cores / work
	if rate*duration > maxPods {
		return nil, refuse("load·cores·duration/work", rate*duration, fmt.Sprintf("at most %d pods", maxPods))
	}
	s := newStreams(seed)
	var pods []sim.Pod
	for now := s.arrivals.ExpFloat64() / rate; now < duration; now += s.arrivals.ExpFloat64() / rate {
		pods = append(pods, s.pod(now, work, law))
	}
	return pods, nil
}

// Mix is how many pods of a batch press on memory or wait for something else; the
// rest take a core and no memory.
type Mix struct {
	// MemoryShare of the pods take 12 % of a node's memory and a tenth of a core; 0 means half.
	MemoryShare float64
	// WaitingShare of the pods take a fifth of a core alone, as for disk or network.
	WaitingShare float64
}

const (
	mixMemory       = .12 // of the node's
	mixMemoryCores  = .1
	mixWaitingCores = .2
	defaultRamp     = 5. // seconds over which pods take their memory
)

// Mixed is a batch of the given mix in random order, for nodes of the given memory in
// bytes. Every pod runs alone for the given mean time, work, in seconds.
func Mixed(seed uint64, n int, work float64, law Law, memory float64, m Mix) ([]sim.Pod, error) {
	setDefault(&m.MemoryShare, .5)
	if err := checked(law, "memory", memory); err != nil {
		return nil, err
	}
	if !(m.MemoryShare >= 0 && m.WaitingShare >= 0 && m.MemoryShare+m.WaitingShare <= 1) {
		return nil, refuse("mix", m, "shares ≥ 0 of together at most 1")
	}
	pods, err := Batch(seed, n, work, law)
	if err != nil {
		return nil, err
	}
	s := newStreams(seed)
	for i := range pods {
		p := &pods[i]
		switch u := s.choices.Float64(); {
		case u < m.MemoryShare:
			p.Cores, p.Memory, p.Ramp = mixMemoryCores, math.Round(mixMemory*memory), defaultRamp
			p.Workload = "memory"
		case u < m.MemoryShare+m.WaitingShare:
			p.Cores, p.Workload = mixWaitingCores, "waiting"
		default:
			p.Workload = "cpu"
			continue
		}
		p.Work *= p.Cores
	}
	return pods, nil
}

func setDefault(field *float64, value float64) {
	if *field == 0 {
		*field = value
	}
}

// Servers is one server on every third node, each of the given rate and mean
// work of requests, there before anything else.
func Servers(nodes int, server node.Server) []sim.Pod {
	var pods []sim.Pod
	for on := 1; on <= nodes; on += 3 {
		pods = append(pods, sim.Pod{Server: server, On: on})
	}
	return pods
}
