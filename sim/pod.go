package sim

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Pod is one pod of a workload: what it does, and what it says it will do.
type Pod struct {
	// Created is when it is submitted, in seconds from the workload's start.
	Created float64
	// Work is the CPU time that ends it, in core-seconds; Cores the rate at
	// which it works when nothing holds it up, 0 meaning 1.
	Work, Cores float64
	// Threads share its work; 0 means as many as Cores, rounded up.
	Threads int
	// Memory in bytes, held while it runs: all at once, or growing over its first
	// Ramp seconds.
	Memory, Ramp float64
	// Workload names what made it, as profile.Identify does: profiles and recommenders
	// take the pods of one workload for alike. Revision is that of its template.
	Workload, Revision string
	// Startup is the latency from its start by the kubelet to running, or to its
	// first init container, in seconds, as long as the node is not full.
	Startup float64
	// Init are its init containers.
	Init node.Init
	// Request and Limit are what it declares; 0 is nothing. A limit without a
	// request is a request of as much, as the API server has it.
	Request, Limit baseline.Resources
	// Weight is its share of full cores; 0 means its CPU request, or 1 if it has
	// none.
	Weight float64
	// Server makes it a server: it has no work, ends with the run, and its
	// requests' response times are measured. What it takes is in no profile.
	Server node.Server
	// On places the pod by hand on node On−1, ahead of the workload; 0 leaves
	// it to the scheduler.
	On int
	// Evictable reports whether a descheduler may evict it.
	Evictable bool
}

// Solo is the pod's run time alone on a node of cores enough, in seconds.
func (p Pod) Solo() float64 { return p.Work / p.width() }

// width is how many cores it works on when nothing holds it up.
func (p Pod) width() float64 {
	if p.Cores == 0 {
		return 1
	}
	return p.Cores
}

func (p *Pod) weight() float64 {
	switch request := p.request().CPU; {
	case p.Weight > 0:
		return p.Weight
	case request > 0:
		return request
	}
	return 1
}

// request is what the API server has.
func (p *Pod) request() baseline.Resources {
	r := p.Request
	setDefault(&r.CPU, p.Limit.CPU)
	setDefault(&r.Memory, p.Limit.Memory)
	return r
}

// maxInits bounds what a pod may ask for by mistake.
const maxInits = 1000

func (p Pod) validate(i, nodes int) error {
	name := func(field string) string { return fmt.Sprintf("Pods[%d].%s", i, field) }
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"Created", p.Created}, {"Work", p.Work}, {"Cores", p.Cores}, {"Memory", p.Memory}, {"Ramp", p.Ramp}, {"Startup", p.Startup},
		{"Request.CPU", p.Request.CPU}, {"Request.Memory", p.Request.Memory},
		{"Limit.CPU", p.Limit.CPU}, {"Limit.Memory", p.Limit.Memory}, {"Weight", p.Weight},
		{"Server.Rate", p.Server.Rate}, {"Server.Work", p.Server.Work},
		{"Init.Seconds", p.Init.Seconds}, {"Init.Cores", p.Init.Cores}, {"Init.Gap", p.Init.Gap},
	} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return refuse(name(f.name), f.value, "a finite number ≥ 0")
		}
	}
	switch {
	case p.Cores > node.MaxThreads:
		return refuse(name("Cores"), p.Cores, fmt.Sprintf("at most %d", node.MaxThreads))
	case p.Threads < 0 || p.Threads > node.MaxThreads || p.Threads > 0 && float64(p.Threads) < p.Cores:
		return refuse(name("Threads"), p.Threads, fmt.Sprintf("at least its cores, at most %d (0 is the default)", node.MaxThreads))
	case p.Init.Cores > 1:
		return refuse(name("Init.Cores"), p.Init.Cores, "at most 1")
	case p.Init.Containers < 0 || p.Init.Containers > maxInits:
		return refuse(name("Init.Containers"), p.Init.Containers, fmt.Sprintf("0 to %d", maxInits))
	case p.On < 0 || p.On > nodes:
		return refuse(name("On"), p.On, fmt.Sprintf("0 to %d", nodes))
	case (p.Server.Rate > 0) != (p.Server.Work > 0):
		return refuse(name("Server"), p.Server, "both a rate and a work, or none")
	case (p.Server.Rate > 0) == (p.Work > 0):
		return refuse(name("Work"), p.Work, "above 0, or 0 for a server")
	}
	return nil
}

// Record is what became of one pod. Times are in seconds from the workload's
// start, −1 for what has not happened.
type Record struct {
	// Node it ran on, from 0; −1 for none.
	Node int
	// Bound, Running and Done are those of the last attempt.
	Bound, Running, Done float64
	// Attempts is how often the scheduler tried it, Kills how often the kernel
	// killed it for its memory, and Evictions how often the kubelet evicted or refused
	// it; it began anew each time unless its Job GaveUp.
	Attempts, Kills, Evictions int
	GaveUp                     bool
	// Expected is what the scheduler expected of it by its workload's profile when it
	// was bound, nothing if it did not know.
	Expected profile.Demand
}
