package plugin

import (
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
)

// States of a node's signal.
const (
	signalFresh   = "fresh"
	signalStale   = "stale"
	signalMissing = "missing"
)

// NodeState is one node as the scheduler sees it; capacities are in pods.
type NodeState struct {
	Node string `json:"node"`
	// Signal is fresh, stale or missing; Age is that of the report's newest sample
	// by the scheduler's clock, 0 if missing.
	Signal string        `json:"signal"`
	Age    time.Duration `json:"ageNanos"`
	// Avail, Allowance, K, Limiting and Saturated are the report's; Running is n,
	// the pods it counts.
	Avail     float64 `json:"avail"`
	Allowance float64 `json:"allowance"`
	Running   int     `json:"running"`
	// Known is how many of the Running pods are of workloads whose profiles are known; the others count
	// as typical pods. Only Handler adds it, and only if profiles are on.
	Known     *int    `json:"known,omitempty"`
	K         float64 `json:"k"`
	Limiting  string  `json:"limiting,omitempty"`
	Saturated bool    `json:"saturated"`
	// Assumed reports whether Avail, and so Free, rests on a prior: what a pod takes of
	// the limiting resource was not measured.
	Assumed bool `json:"assumed,omitempty"`
	// InFlight is the demand reserved and not yet reported, Stalled the part of it
	// that waits for something other than the node, such as an image; Held is the room
	// that placeholder pods keep free; Free is Avail less InFlight and Held, Slots the pods that
	// would be admitted now.
	InFlight float64 `json:"inFlight"`
	Stalled  float64 `json:"stalled,omitempty"`
	Held     float64 `json:"held,omitempty"`
	Free     float64 `json:"free"`
	Slots    int     `json:"slots"`
	// Overdue counts the pods on it that were bound without room, for they had
	// waited for maxWait; OverduePlaces is how many it would take besides.
	Overdue       int `json:"overdue,omitempty"`
	OverduePlaces int `json:"overduePlaces,omitempty"`
	// Cores and Bytes are what is left of the node's own cores and bytes beside the pods
	// that run and those in flight; absent where the node does not count in them. Below 0
	// cores tasks wait for one another.
	Cores *float64 `json:"cores,omitempty"`
	Bytes *float64 `json:"bytes,omitempty"`
	// Energy is what is known of its power; absent where nothing is.
	Energy *NodeEnergy `json:"energy,omitempty"`
	// Refused is its last report if that did not count.
	Refused *RefusedReport `json:"refused,omitempty"`
	// Reason is why the node refuses a typical pod or, in a NodeVerdict, the pod that is
	// explained; "admitted" if it takes it.
	Reason string      `json:"reason"`
	Flags  agent.Flags `json:"flags"`
	// Channels are the report's: the usage in [0,1] and the estimates behind
	// Avail.
	Channels []ChannelState `json:"channels,omitempty"`
}

// ChannelState is one resource of a node, as shares of it.
type ChannelState struct {
	Name  string  `json:"name"`
	Usage float64 `json:"usage"`
	// Capacity is C, the headroom without pods, at most 1, Cost c, what one pod takes,
	// CostSD the standard deviation of Cost. Assumed reports whether Cost is a prior, which
	// no pod was measured for.
	Capacity float64 `json:"capacity"`
	Cost     float64 `json:"cost"`
	CostSD   float64 `json:"costSD"`
	Assumed  bool    `json:"assumed,omitempty"`
	// Room is what the pods that run leave; it may be negative.
	Room float64 `json:"room"`
}

// NodeEnergy is the power that a node reports. Watts, Marginal and Busy are as in its report,
// without the pods in flight.
type NodeEnergy struct {
	// Quality is the source of the power figure: modelled, platform, shared or measured.
	Quality string  `json:"quality"`
	Watts   float64 `json:"watts"`
	SD      float64 `json:"sd"`
	Max     float64 `json:"max"`
	Idle    float64 `json:"idle"`
	// Marginal is the watts that one more busy core takes, Busy the number of busy cores.
	Marginal float64 `json:"marginal"`
	Busy     float64 `json:"busy"`
	// InFlightCores is how many cores the node's pods in flight are expected to keep busy.
	InFlightCores float64 `json:"inFlightCores"`
	// Joules is the energy that the node has taken since its agent started.
	Joules float64 `json:"joules"`
	Flags  string  `json:"flags,omitempty"`
	// Goodness is how good the node is relative to the fleet's median, from ¼ to 4, for the pod
	// that is explained or else for a typical one. It is absent if the report no longer counts.
	Goodness *float64 `json:"goodness,omitempty"`
}

// EnergyStatus is what is known about energy besides the nodes' power.
type EnergyStatus struct {
	// Objective and Cores are those that the nodes' Goodness is computed with: the objective of
	// the first profile that ranks by energy, and the cores of a typical pod.
	Objective string  `json:"objective"`
	Cores     float64 `json:"cores"`
	// Workloads lists the workloads whose pods take most, at most 100, the largest first.
	Workloads []energy.WorkloadEstimate `json:"workloads"`
}

// Status is what Handler answers.
type Status struct {
	Nodes   []NodeState    `json:"nodes"`
	Ledger  reserve.Census `json:"ledger"`
	Waiting int            `json:"waiting"`
	// Energy is absent as long as no agent reports what pods take, and no profile ranks
	// nodes by it.
	Energy *EnergyStatus `json:"energy,omitempty"`
}

// DebugPath is where a scheduler's HTTP server is expected to mount Handler.
const DebugPath = "/debug/spazio"

// NodeExplanation is why a node has the room that it has, and what is on it. A plain
// value.
type NodeExplanation struct {
	NodeState
	// Pods are those that are bound to the node and have not ended, in order of their
	// creation, whichever scheduler placed them.
	Pods []NodePod `json:"pods,omitempty"`
}

// NodePod is a pod on a node.
type NodePod struct {
	// Pod is namespace/name.
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// Profile is the pod's scheduler.
	Profile string `json:"profile"`
	// State is in flight, counted, holding room or exempt.
	State   string    `json:"state"`
	Created time.Time `json:"created"`
	// Phase is the API's.
	Phase v1.PodPhase `json:"phase"`
	// Source is where what is known of it comes from, as in WorkloadState; empty if profiles are off.
	Source string `json:"source,omitempty"`
}

// ErrUnknownNode is the error of ExplainNode for a node that the scheduler does not know.
var ErrUnknownNode = errors.New("no such node")

// States of a pod in the plugin's eyes.
const (
	// podNew has not been tried; podWaiting was, and found no room; podInFlight
	// was given to a node that has not yet reported it; podCounted is in its
	// node's reports; podEnded is terminal; podPlaceholder holds room on its node; podExempt
	// is not handled by the plugin.
	podNew         = "new"
	podWaiting     = "waiting"
	podInFlight    = "in flight"
	podCounted     = "counted"
	podEnded       = "ended"
	podPlaceholder = "holding room"
	podExempt      = "exempt"
)

// Errors of Explain.
var (
	ErrUnknownPod = errors.New("the scheduler knows no such pod: it has ended, was never created, or is another scheduler's")
	ErrNotStarted = errors.New("the plugin has not been started")
)

// Explanation is where a pod could go, and why not elsewhere.
type Explanation struct {
	// Pod is namespace/name.
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// Profile is the pod's scheduler; Ours reports whether it enables the plugin here.
	Profile string `json:"profile"`
	Ours    bool   `json:"ours"`
	// State is new (not tried yet), waiting (for a node), in flight (its node has yet to report it),
	// counted (its node did, or the API shows that it ran), ended, holding room (as a placeholder of
	// a Testbed) or exempt (not handled by the plugin). Node is where the pod is or goes.
	State string `json:"state"`
	Node  string `json:"node,omitempty"`
	// Unscheduled is the message of the pod's condition PodScheduled while that is
	// false: the whole scheduler's word on its last attempt, with what other
	// plugins refused it for, such as a taint.
	Unscheduled string `json:"unscheduled,omitempty"`
	// RoomSince is since when the pod waits for room that the plugin alone refused it, nil if it
	// does not. Overdue reports whether it has waited for longer than maxWait, or had before its bind:
	// nodes without room may take it then. OverdueSince is when that began, nil if it does not wait.
	RoomSince    *time.Time `json:"roomSince,omitempty"`
	Overdue      bool       `json:"overdue,omitempty"`
	OverdueSince *time.Time `json:"overdueSince,omitempty"`
	// Buffer is the CapacityBuffer that asks for nodes for it while it waits for room, as
	// namespace/name, empty if none does.
	Buffer string `json:"buffer,omitempty"`
	// Steps are what has happened to it, in order.
	Steps []Step `json:"steps"`
	// Attempt is the last scheduling attempt, nil if none is remembered.
	Attempt *Attempt `json:"attempt,omitempty"`
	// Workload is what is known of what the pod takes; nil where profiles are off.
	Workload *WorkloadState `json:"workload,omitempty"`
	// Energy is what its workload's pods were measured to take; nil as long as no agent
	// reports it, and no profile ranks nodes by it.
	Energy *energy.WorkloadEstimate `json:"energy,omitempty"`
	// Nodes are all nodes as they are now, by name; unless the pod is Ours, as one of the default
	// options would find them.
	Nodes []NodeVerdict `json:"nodes"`
}

// Attempt sums up what a scheduling attempt saw of the nodes.
type Attempt struct {
	At time.Time `json:"at"`
	// Nodes were known, WithRoom of them admitted the pod; Refusals counts the
	// others.
	Nodes    int       `json:"nodes"`
	WithRoom int       `json:"withRoom"`
	Refusals []Refusal `json:"refusals,omitempty"`
	// Reserved is the node that the pod was put in flight to, with the avail, nil if
	// that was not known, and the pods in flight as they were just before; empty if there was none.
	Reserved string   `json:"reserved,omitempty"`
	Avail    *float64 `json:"avail,omitempty"`
	InFlight float64  `json:"inFlight,omitempty"`
}

// WorkloadState is what is known of what a workload's pods take.
type WorkloadState struct {
	// Workload is namespace/kind/name.
	Workload string `json:"workload"`
	// Source is where that comes from: profile, contradicted (a profile that measurements of the
	// workload's pods contradict), off (a profile that is not to be used) or typical (nothing is
	// known, so that a pod counts as a typical one).
	Source string `json:"source"`
	// Decides reports whether decisions rest on it.
	Decides bool       `json:"decides,omitempty"`
	CPU     ShareState `json:"cpu"`
	Memory  ShareState `json:"memory"`
}

// ShareState is a mean and a standard deviation, in cores or bytes, and how far both
// are trusted, from 0 to 1.
type ShareState struct {
	Amount     float64 `json:"amount"`
	SD         float64 `json:"sd"`
	Confidence float64 `json:"confidence"`
}

// NodeVerdict is a node as a pod would find it.
type NodeVerdict struct {
	NodeState
	// Score is the node's among those that admit the pod, 0 to 100, before the
	// scheduler weighs it with other plugins' and without the chance that decides
	// between near-ties; absent where the pod is refused. A profile that ignores the
	// room gives one to all.
	Score *int64 `json:"score,omitempty"`
	// ByProfile is what Reason would be with SpazioArgs.Profiles set to On; empty if no profile
	// states what the pod takes.
	ByProfile string `json:"byProfile,omitempty"`
	// Takes is what the pod would take of each resource in typical pods, and Binding
	// which of them has the least left beside it; absent where nothing is known of it
	// or the node does not count in resources.
	Takes   map[string]float64 `json:"takes,omitempty"`
	Binding string             `json:"binding,omitempty"`
}

// PendingPod is a pod that has no node. A plain value.
type PendingPod struct {
	Namespace string
	Name      string
	// Profile is the pod's scheduler.
	Profile string
	// Since is when it was created.
	Since time.Time
	// Reason says why it has none: what the last attempt saw if the plugin refused it all
	// nodes, else the message of its condition PodScheduled.
	Reason string
}

// Sources of what is known about a pod: its workload's profile, no profile, a profile that
// measurements of its pods contradict, or one that is not to be used.
const (
	SourceProfile      = "profile"
	sourceTypical      = "typical"
	SourceContradicted = "contradicted"
	sourceOff          = "off"
)

// Names of a pod's steps, in the order in which they come.
const (
	// stepCreated: the API has it.
	stepCreated = "created"
	// stepTried: the scheduler looked for a node for it, for the first time.
	stepTried = "tried"
	// stepReserved: it was put in flight to a node.
	stepReserved = "reserved"
	// stepBound: the API has it on the node.
	stepBound = "bound"
	// stepListed: a report of the node's agent counted it for the first time.
	stepListed = "listed"
	// stepStarted: the first of its containers runs.
	stepStarted = "started"
	// stepEnded: the last of its containers has ended.
	stepEnded = "ended"
)

// Step is one thing that has happened to a pod. A plain value.
type Step struct {
	// Name is created, tried, reserved, bound, listed, started or ended.
	Name string `json:"name"`
	// At is when the step happened; absent if that is no longer known, as after a restart.
	At *time.Time `json:"at,omitempty"`
	// WholeSeconds is set if At is the API's, which cuts off the fraction. An earlier step may
	// then seem to come after this one.
	WholeSeconds bool `json:"wholeSeconds,omitempty"`
	// Node is the node of a step that has to do with one.
	Node string `json:"node,omitempty"`
	// Tries is set only for tried.
	Tries *Tries `json:"tries,omitempty"`
	// Phase is set only for ended: Succeeded or Failed.
	Phase string `json:"phase,omitempty"`
}

// Tries counts the attempts to find a node for a pod, as far as they reached the plugin.
type Tries struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
	// Refusals lists the plugin's refusals in all attempts, by reason.
	Refusals []RefusalClass `json:"refusals,omitempty"`
	// Lost counts the nodes that no longer had room when the pod was to be reserved there,
	// Returned the reservations that were returned because the bind failed.
	Lost     int `json:"lost,omitempty"`
	Returned int `json:"returned,omitempty"`
}

// RefusalClass is a reason for which nodes were refused to a pod.
type RefusalClass struct {
	// Reason is reserve.Reason's.
	Reason string `json:"reason"`
	// Tries counts the attempts in which a node was refused for this reason, Nodes the nodes in
	// the last of these attempts.
	Tries int `json:"tries"`
	Nodes int `json:"nodes"`
}

// Refusal counts the nodes that took no pod for the same reason.
type Refusal struct {
	Nodes   int    `json:"nodes"`
	Message string `json:"message"`
}

// inWords returns the refusals as the scheduler itself would count them in an event.
func inWords(list []Refusal) string {
	parts := make([]string, len(list))
	for i, r := range list {
		parts[i] = fmt.Sprint(r.Nodes, " ", r.Message)
	}
	return strings.Join(parts, ", ")
}

// RefusedReport is a report that does not count, because it is invalid or of a newer version. A
// plain value.
type RefusedReport struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// The plugin writes these conditions into the status of pods, which a scheduler may patch anyway,
// so that what has to outlive the scheduler is where the next one finds it.
const (
	// OverdueCondition marks a pod that waited for measured room longer than maxWait and was then
	// bound to a node without room. It is written before the bind, so that every scheduler,
	// including one that starts later, counts a node's overdue pods.
	OverdueCondition v1.PodConditionType = "spazio-scheduler.github.io/overdue"
	// WaitsForRoomCondition marks a pod that has waited for measured room for a quarter of
	// maxWait. Its last transition is when the wait began, so that the pod is overdue at the same
	// time whichever scheduler leads then. It is False once the pod has a node.
	WaitsForRoomCondition v1.PodConditionType = "spazio-scheduler.github.io/waits-for-room"
)

// isOverdue reports whether a pod was bound to a node without room.
func isOverdue(pod *v1.Pod) bool {
	return objects.Condition(pod, OverdueCondition, v1.ConditionTrue) != nil
}

// roomSince returns since when a pod is marked as waiting for room, or the zero time. The mark is
// all that a scheduler knows about pods that waited before it started.
func roomSince(pod *v1.Pod) time.Time {
	if c := objects.Condition(pod, WaitsForRoomCondition, v1.ConditionTrue); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
