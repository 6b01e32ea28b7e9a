package node

import (
	"errors"
	"fmt"
)

// Errors of a Model; match them with errors.Is.
var (
	ErrDuplicatePod = errors.New("node: pod is on the node already")
	ErrBadPod       = errors.New("node: pod is not runnable")
)

// PodID identifies a pod on a node.
type PodID uint64

// Pod is the work that one pod brings to a node.
type Pod struct {
	ID PodID
	// Work is the CPU time that ends it, in core-seconds. A server has none.
	Work float64
	// Cores is the rate at which it works when nothing holds it up, in cores; 0
	// means 1, a thread that never sleeps.
	Cores float64
	// Threads share its work evenly; 0 means as many as Cores, rounded up, the least
	// that there can be.
	Threads int
	// Weight is its share of full cores relative to others'; 0 means 1, which
	// is also the weight of daemons and container starts.
	Weight float64
	// Limit is that of its CPU time in cores, which holds up all its threads when it is
	// used: see the package. 0 is none.
	Limit float64
	// Memory in bytes, held while it runs: all at once, or growing evenly in tenths
	// over the first Ramp seconds.
	Memory, Ramp float64
	// QOS is its class, MemoryRequest what it requests in bytes, and Priority that of its
	// priority class: by them the kernel and the kubelet choose whom they end where memory
	// is short.
	QOS           QOSClass
	MemoryRequest float64
	Priority      int32
	// Startup is the time from the bind to the running state, or to the first init
	// container, in seconds.
	Startup float64
	// Init is what runs ahead of it.
	Init Init
	// Server makes the pod a server that runs until it is killed, and Seed with the ID
	// selects its requests, which are the same on every node.
	Server Server
	Seed   uint64
	// Stages, if any, are what it does one after the other, in the place of Work, Cores,
	// Memory and Ramp; it ends with the last. A container that is killed begins anew.
	Stages []Stage
}

// Stage is a part of a pod's life in which its demand is constant: its start-up, some work,
// or a pause.
type Stage struct {
	// Seconds is how long it takes on a node that is not full, above 0, and Cores the rate at
	// which the pod works meanwhile; 0 is a pause, whose time passes on a full node, too.
	Seconds, Cores float64
	// Memory in bytes is what the pod holds from its beginning on. Garbage comes on top in
	// tenths over each Period seconds, at whose end a collection frees it; 0 is none.
	Memory, Garbage, Period float64
}

// Peak is the most memory that the pod holds in the stage, in bytes.
func (s Stage) Peak() float64 { return s.Memory + s.Garbage }

// Validate returns a *field.Error for the first field out of range of a stage of a pod of so
// many threads; 0 are as many as it takes.
func (s Stage) Validate(threads int) error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"Cores", s.Cores}, {"Memory", s.Memory}, {"Garbage", s.Garbage}, {"Period", s.Period}} {
		if !finite(f.value) {
			return refuse("Stage."+f.name, f.value, "a finite number, at least 0")
		}
	}
	switch {
	case !finite(s.Seconds) || s.Seconds == 0:
		return refuse("Stage.Seconds", s.Seconds, "a finite number above 0")
	case s.Cores > MaxThreads || threads > 0 && float64(threads) < s.Cores:
		return refuse("Stage.Cores", s.Cores, fmt.Sprintf("at most the pod's threads and %d", MaxThreads))
	case (s.Garbage > 0) != (s.Period > 0):
		return refuse("Stage.Period", s.Period, "above 0 if there is garbage, else 0")
	}
	return nil
}

// Server is an open-loop load of requests. The zero value is none.
type Server struct {
	// Rate is the mean number of requests a second, Poisson; see [Model.SetRate].
	Rate float64
	// Work is the mean CPU time of a request in core-seconds, exponential.
	Work float64
}

// Init is a pod's init containers, which run one after the other before the pod's
// own container. The zero value is none.
type Init struct {
	// Containers is how many there are.
	Containers int
	// Seconds is how long each runs on a node that is not full, and Cores the rate
	// at which it works meanwhile, at most 1; 0 waits for something elsewhere.
	Seconds, Cores float64
	// Gap is the time from the end of one to the start of the next container, in
	// which none runs.
	Gap float64
}

func (p Pod) validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"work", p.Work}, {"cores", p.Cores}, {"weight", p.Weight}, {"limit", p.Limit}, {"memory", p.Memory},
		{"memory request", p.MemoryRequest}, {"ramp", p.Ramp}, {"startup", p.Startup}, {"request rate", p.Server.Rate}, {"request work", p.Server.Work},
		{"init seconds", p.Init.Seconds}, {"init cores", p.Init.Cores}, {"init gap", p.Init.Gap},
	} {
		if !finite(f.value) {
			return fmt.Errorf("%w: %s %v", ErrBadPod, f.name, f.value)
		}
	}
	switch {
	case p.Cores > MaxThreads:
		return fmt.Errorf("%w: cores %v, at most %d", ErrBadPod, p.Cores, MaxThreads)
	case p.Threads < 0 || p.Threads > MaxThreads || p.Threads > 0 && float64(p.Threads) < p.Cores:
		return fmt.Errorf("%w: %d threads for %v cores, want at least as many and at most %d", ErrBadPod, p.Threads, p.Cores, MaxThreads)
	case p.Init.Cores > 1:
		return fmt.Errorf("%w: init cores %v, a container has one thread", ErrBadPod, p.Init.Cores)
	case p.Init.Containers < 0 || p.Init.Containers > maxInits:
		return fmt.Errorf("%w: %d init containers", ErrBadPod, p.Init.Containers)
	case p.Server.Rate > 0 && p.Server.Work == 0:
		return fmt.Errorf("%w: a server's requests need a work", ErrBadPod)
	case p.Server.Work > 0 && (p.Work > 0 || len(p.Stages) > 0):
		return fmt.Errorf("%w: a server has no work of its own", ErrBadPod)
	case len(p.Stages) > 0 && (p.Work > 0 || p.Cores > 0 || p.Memory > 0 || p.Ramp > 0):
		return fmt.Errorf("%w: stages and work, cores, memory or a ramp besides", ErrBadPod)
	}
	for _, s := range p.Stages {
		if err := s.Validate(p.Threads); err != nil {
			return fmt.Errorf("%w: %w", ErrBadPod, err)
		}
	}
	return nil
}

// What a pod may ask for by mistake is bounded.
const (
	maxInits   = 1000
	MaxThreads = 4096
)

// Phase is where a pod is in its life.
type Phase uint8

// The phases of a pod. Initialising is an init container that runs, Initialised
// that it has ended; each container, an init container too, begins with
// Starting. Removed follows Succeeded: the pod's sandbox is gone. Failed and Evicted
// pods are gone; one that is Restarting was killed for its memory and begins anew with
// Starting.
const (
	Bound Phase = iota + 1
	Starting
	Running
	Succeeded
	Failed
	Killed
	Initialising
	Initialised
	Removed
	Restarting
	Evicted
)

func (p Phase) String() string {
	names := [...]string{"", "Bound", "Starting", "Running", "Succeeded", "Failed", "Killed", "Initialising", "Initialised", "Removed", "Restarting", "Evicted"}
	if int(p) >= len(names) {
		return fmt.Sprintf("Phase(%d)", int(p))
	}
	return names[p]
}

// Transition is the entry of a pod into a phase.
type Transition struct {
	At    float64 // seconds since the model's start
	Pod   PodID
	Phase Phase
}
