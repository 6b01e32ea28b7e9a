package simnode

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Errors of a Machine; match them with errors.Is.
var (
	ErrDuplicatePod = errors.New("simnode: pod is on the node already")
	ErrBadPod       = errors.New("simnode: pod is not runnable")
)

// Params describes a simulated node. A zero field takes its default.
type Params = node.Params

// Pod is the work that one pod brings to a node.
type Pod struct {
	UID string
	// Work is the CPU time of its single thread.
	Work time.Duration
	// Memory in bytes, held while it runs.
	Memory float64
	// Startup is the time from the bind to the running state.
	Startup time.Duration
}

func (p Pod) validate() error {
	switch {
	case p.UID == "":
		return fmt.Errorf("%w: no UID", ErrBadPod)
	case p.Work < 0:
		return fmt.Errorf("%w: work %v", ErrBadPod, p.Work)
	case p.Memory < 0 || math.IsNaN(p.Memory) || math.IsInf(p.Memory, 0):
		return fmt.Errorf("%w: memory %v", ErrBadPod, p.Memory)
	case p.Startup < 0:
		return fmt.Errorf("%w: startup %v", ErrBadPod, p.Startup)
	}
	return nil
}

// Phase is where a pod is in its life.
type Phase = node.Phase

// The phases of a pod in order.
const (
	Bound     = node.Bound
	Starting  = node.Starting
	Running   = node.Running
	Succeeded = node.Succeeded
	Failed    = node.Failed
	Killed    = node.Killed
)

// Transition says that a pod entered a phase.
type Transition struct {
	At    time.Time
	UID   string
	Phase Phase
}

// StartupLatency draws the time from a pod's bind to its running state.
func StartupLatency(rng *rand.Rand) time.Duration {
	return time.Duration(node.StartupLatency(rng) * float64(time.Second))
}
