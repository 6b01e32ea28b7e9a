package simnode

import (
	"context"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Machine runs the pods of one node. Implementations are safe for concurrent
// use.
type Machine interface {
	// Spec describes the node for the API server. It never changes.
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

// Transition is the entry of a pod into a phase.
type Transition struct {
	At    time.Time
	UID   string
	Phase Phase
	// IP is the address of a pod that runs, where the machine has given it one.
	IP string
}
