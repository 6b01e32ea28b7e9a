package simnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/field"
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

// Clock maps the wall clock to virtual time: virtual = epoch + scale · elapsed.
// It is a plain value, safe for concurrent use. The zero Clock is the wall
// clock itself.
type Clock struct {
	epoch time.Time
	scale float64
}

// NewClock returns a clock that shows epoch at the moment epoch and runs scale
// times as fast as the wall clock from there. A scale of 0 means 1.
func NewClock(epoch time.Time, scale float64) Clock {
	return Clock{epoch: epoch, scale: scale}
}

// Now returns the virtual time.
func (c Clock) Now() time.Time {
	if c.Scale() == 1 {
		return time.Now()
	}
	return c.Virtual(time.Now())
}

// Virtual returns the virtual time at a moment of the wall clock.
func (c Clock) Virtual(wall time.Time) time.Time {
	if c.Scale() == 1 {
		return wall
	}
	return c.epoch.Add(time.Duration(float64(wall.Sub(c.epoch)) * c.scale))
}

// Scale returns how many virtual seconds pass in one second.
func (c Clock) Scale() float64 {
	if c.scale == 0 {
		return 1
	}
	return c.scale
}

// Wall returns how long the virtual span d takes on the wall clock.
func (c Clock) Wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.Scale())
}

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in the errors of configurations.
	errInvalid = errors.New("invalid configuration or input")
	// ErrBadPod is in the errors of pods.
	ErrBadPod = errors.New("pod is not runnable")
	// ErrDuplicatePod is returned for a pod that is on the node already.
	ErrDuplicatePod = errors.New("simnode: pod is on the node already")
	// ErrStopped is returned for a pod given to a machine that has stopped.
	ErrStopped = errors.New("simnode: machine has stopped")
)

// refuse makes a *field.Error; want completes "must be".
func refuse(reason error, name string, value any, want string) error {
	return &field.Error{Package: "simnode", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", reason, want)}
}
