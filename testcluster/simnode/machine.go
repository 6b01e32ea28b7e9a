package simnode

import (
	"context"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Machine runs the pods of one node. Implementations are safe for concurrent
// use.
type Machine interface {
	// Spec is what the node says of itself to the API server. It never changes.
	Spec() NodeSpec
	// Bind starts a pod; its phases are emitted by Run.
	Bind(p Pod) error
	// Kill ends a pod, if it is there.
	Kill(uid string)
	// Run drives the machine and calls emit for each transition, in order for
	// each pod, until ctx ends; then it returns nil with every pod gone.
	Run(ctx context.Context, emit func(Transition)) error
}

// Phase is where a pod is in its life.
type Phase = node.Phase

// The phases of a pod in order.
const (
	Bound     = node.Bound
	starting  = node.Starting
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
	// IP is the address of a pod that runs, where the machine has given it one.
	IP string
}
