package relief

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
)

// ErrInvalid is the reason of the *field.Error for an option that is refused.
var ErrInvalid = errors.New("invalid option")

// Options are the constants of a Planner. [DefaultOptions] returns the defaults.
type Options struct {
	// Tolerance is by how many typical pods a node's room may be below 0: default ½, range [0, ∞).
	Tolerance float64
	// Sustained is for how long it has to be below that: default 3 min, at least 0.
	Sustained time.Duration
	// MinAge is how long a pod has to have run: default 5 min, at least 0.
	MinAge time.Duration
	// Interval is the time between two evictions from one node: default 1 min, above 0. If two calls of
	// Plan lie further apart, Sustained begins anew.
	Interval time.Duration
	// MaxPerCycle is how many pods are evicted in the cluster in one Interval: default 10, at least 1.
	MaxPerCycle int
	// Rules are those by which other nodes have room. The zero value is the default.
	Rules reserve.Rules
}

// DefaultOptions returns the documented defaults.
func DefaultOptions() Options {
	return Options{Tolerance: .5, Sustained: 3 * time.Minute, MinAge: 5 * time.Minute, Interval: time.Minute, MaxPerCycle: 10}
}

// Validate returns a *field.Error, or the error of Rules.
func (o Options) Validate() error {
	switch {
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return refuse("Tolerance", o.Tolerance, "a finite number of at least 0")
	case o.Sustained < 0:
		return refuse("Sustained", o.Sustained, "at least 0")
	case o.MinAge < 0:
		return refuse("MinAge", o.MinAge, "at least 0")
	case o.Interval <= 0:
		return refuse("Interval", o.Interval, "above 0")
	case o.MaxPerCycle < 1:
		return refuse("MaxPerCycle", o.MaxPerCycle, "at least 1")
	}
	return o.Rules.Validate()
}

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "relief", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

const (
	// maxEvictions is how many pods a node loses before it is left alone for leftAlone.
	maxEvictions = 3
	leftAlone    = time.Hour
	// reservedFor is for how long room is kept for a replacement. Measured on a cluster, 95 % were
	// bound within 30 s.
	reservedFor = 2 * time.Minute
	// movedFor is for how long the replacement of an evicted pod is not evicted.
	movedFor = 10 * time.Minute
	// failedFor is for how long a pod whose eviction failed is not tried again.
	failedFor = 5 * time.Minute
	// skew is by how much the API server's clock may be behind the caller's.
	skew = 30 * time.Second
)

// Node is what is known of a node when a plan is made.
type Node struct {
	Name string
	// IsMeasured reports whether Signal is current. A node without it is never relieved and takes no pods.
	IsMeasured bool
	Signal     reserve.Signal
	// Flight is what is bound to the node and not in Signal yet.
	Flight reserve.Flight
	// TasksWait reports whether tasks wait for a core, MemoryPressure whether memory is under pressure.
	TasksWait, MemoryPressure bool
	// Pods are all that are bound to the node, in any order.
	Pods []Pod
}

// Pod is a pod that is bound to a node.
type Pod struct {
	Key reserve.PodKey
	// Owner identifies what makes a new pod in its place, such as its controller's UID.
	Owner string
	// Created is when the API made it, Running since when all its containers run, zero if they do not.
	Created, Running time.Time
	// Terminating reports whether it is being deleted. Until it is gone, no other pod of the node is evicted.
	Terminating bool
	// Evictable reports whether it may be evicted for all that the caller knows: by its disruption
	// budget, its priority, its owner.
	Evictable bool
	// Priority and DeletionCost order the pods; the lowest go first.
	Priority, DeletionCost int32
	// Demand is what it is measured to take: of its workload, or a typical pod.
	Demand reserve.Demand
}

// Planner plans evictions. It keeps what it saw of nodes and what it evicted. Not safe for
// concurrent use.
type Planner struct {
	options Options
	nodes   map[string]*history
	// recent are the times of the evictions in the last Interval.
	recent   []time.Time
	reserved []reservation
	// moved are the replacements of evicted pods, and when those were evicted; failed are the pods whose
	// eviction failed, and when.
	moved, failed map[reserve.PodKey]time.Time
	// bound are the pods on nodes at the last Plan. A map is not changed once it is made.
	bound map[reserve.PodKey]bool
}

// history is what the planner keeps of a node.
type history struct {
	// since is from when the node has been too full without a break, zero if it is not; contended is
	// when tasks last waited in that time, seen the last call.
	since, contended, seen time.Time
	// evictions are those since then; tried is the time of the last, also of one that failed, and leaving the
	// pod of the last that did not, none at first.
	evictions int
	tried     time.Time
	leaving   []reserve.PodKey
	// until is when the node is looked at again.
	until time.Time
}

// reservation is room that is kept for the replacement of an evicted pod.
type reservation struct {
	owner  string
	node   string
	demand reserve.Demand
	at     time.Time
	// bound are the pods that were on nodes then: none of them is the replacement.
	bound map[reserve.PodKey]bool
}

// NewPlanner returns a planner that has seen nothing, or the error of Options.Validate.
func NewPlanner(o Options) (*Planner, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Planner{options: o, nodes: map[string]*history{}, moved: map[reserve.PodKey]time.Time{}, failed: map[reserve.PodKey]time.Time{}}, nil
}
