package relief

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// Reason is why a node is or is not relieved, or why a pod is or is not evicted.
type Reason uint8

// The reasons of nodes, in the order in which they are looked for.
const (
	// Evict: the decision's pod is to be evicted.
	Evict Reason = iota
	// Unmeasured: nothing current is known of the node.
	Unmeasured
	// HasRoom: the node is not too full.
	HasRoom
	// LeftAlone: evictions did not help, and the node would have to lose more than three pods.
	LeftAlone
	// NotSustained: it is too full, but not for long enough.
	NotSustained
	// NoContention: no task waited for a core and memory was not under pressure.
	NoContention
	// Paused: an eviction from the node was tried less than an interval ago, or a pod of it is terminating.
	Paused
	// ClusterLimit: MaxPerCycle pods were evicted in the last interval.
	ClusterLimit
	// NoSet: the pods that may be evicted are too few or too small.
	NoSet

	// The reasons of pods. Evict, for the pod that goes first, is one too.

	// NotEvictable: the caller forbids it, or its eviction failed less than five minutes ago.
	NotEvictable
	// TooYoung: it does not run, or not for MinAge.
	TooYoung
	// Moved: it replaced an evicted pod a short time ago.
	Moved
	// UnknownDemand: its demand is not valid.
	UnknownDemand
	// NoTarget: no other node that it may run on has room for it.
	NoTarget
	// Next: it is in the set and may follow.
	Next
	// NotNeeded: others suffice, or go before it.
	NotNeeded
)

var reasonNames = [...]string{
	"evict", "unmeasured", "has room", "left alone", "not sustained", "no contention", "paused", "cluster limit", "no set",
	"not evictable", "too young", "moved", "unknown demand", "no target", "next", "not needed",
}

// String returns a short lower-case name.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Decision is what is planned for one node, and why.
type Decision struct {
	Node   string
	Reason Reason
	// Room is the node's measured room in typical pods, NaN if it is Unmeasured.
	Room float64
	// Since is from when the node has been too full, zero if it is not.
	Since time.Time
	// Until is when a node that is LeftAlone is looked at again.
	Until time.Time
	// Pod is the pod to evict and Target a node that has room for it, if Reason is Evict. The
	// scheduler may choose another one.
	Pod    Pod
	Target string
	// Pods are the reasons of the node's pods, in their order, if Reason is Evict or NoSet.
	Pods []PodDecision
}

// PodDecision is the reason of one pod.
type PodDecision struct {
	Key    reserve.PodKey
	Reason Reason
}
