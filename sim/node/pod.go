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
	// means 1, a thread that never sleeps. At most 1.
	Cores float64
	// Weight is its share of full cores relative to others'; 0 means 1, which
	// is also the weight of daemons and container starts.
	Weight float64
	// Memory in bytes, held while it runs.
	Memory float64
	// Startup is the time from the bind to the running state in seconds.
	Startup float64
	// Server makes the pod a server that runs until it is killed.
	Server Server
}

// Server is an open-loop load of requests. The zero value is none.
type Server struct {
	// Rate is the mean number of requests a second, Poisson.
	Rate float64
	// Work is the mean CPU time of a request in core-seconds, exponential.
	Work float64
}

func (p Pod) validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"work", p.Work}, {"cores", p.Cores}, {"weight", p.Weight}, {"memory", p.Memory},
		{"startup", p.Startup}, {"request rate", p.Server.Rate}, {"request work", p.Server.Work},
	} {
		if !finite(f.value) {
			return fmt.Errorf("%w: %s %v", ErrBadPod, f.name, f.value)
		}
	}
	switch {
	case p.Cores > 1:
		return fmt.Errorf("%w: cores %v, a pod has one thread", ErrBadPod, p.Cores)
	case (p.Server.Rate > 0) != (p.Server.Work > 0):
		return fmt.Errorf("%w: a server needs a rate and a work", ErrBadPod)
	case p.Server.Rate > 0 && p.Work > 0:
		return fmt.Errorf("%w: a server has no work of its own", ErrBadPod)
	}
	return nil
}

// Phase is where a pod is in its life.
type Phase uint8

// The phases of a pod in order.
const (
	Bound Phase = iota + 1
	Starting
	Running
	Succeeded
	Failed
	Killed
)

func (p Phase) String() string {
	names := [...]string{"", "Bound", "Starting", "Running", "Succeeded", "Failed", "Killed"}
	if int(p) >= len(names) {
		return fmt.Sprintf("Phase(%d)", int(p))
	}
	return names[p]
}

// Transition says that a pod entered a phase.
type Transition struct {
	At    float64 // seconds since the model's start
	Pod   PodID
	Phase Phase
}
