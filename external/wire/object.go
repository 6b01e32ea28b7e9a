package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Kind is a kind of objects, spelt as in paths.
type Kind string

// Kinds. Slots are watched by the Testbed that they are of: the object is a [TestbedSlots].
const (
	Testbeds    Kind = "testbeds"
	Slots       Kind = "slots"
	Jobs        Kind = "jobs"
	Schedulings Kind = "schedulings"
)

// Resource is an object of one of the kinds: a [Testbed], a [TestbedSlots], a [Job] or a
// [Scheduling]. It is a plain value: concurrent reading is safe.
type Resource interface {
	ObjectKind() Kind
	// Common returns what all objects have.
	Common() Meta
}

// ObjectKind implements [Resource].
func (Testbed) ObjectKind() Kind { return Testbeds }

// ObjectKind implements [Resource].
func (TestbedSlots) ObjectKind() Kind { return Slots }

// ObjectKind implements [Resource].
func (Job) ObjectKind() Kind { return Jobs }

// ObjectKind implements [Resource].
func (Scheduling) ObjectKind() Kind { return Schedulings }

// Common implements [Resource].
func (m Meta) Common() Meta { return m }

// FullName returns NAMESPACE/NAME.
func (m Meta) FullName() testbed.Name { return testbed.Name{Namespace: m.Namespace, Name: m.Name} }

// Meta is what all objects have.
type Meta struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	// UID distinguishes an object from another of the same name before or after it.
	UID             string     `json:"uid,omitempty"`
	ResourceVersion string     `json:"resourceVersion,omitempty"`
	Created         *time.Time `json:"created,omitempty"`
	// Deleting is set if the object goes as soon as what it holds is released.
	Deleting bool `json:"deleting,omitempty"`
}

// CompareVersions returns -1, 0 or 1 if a resourceVersion is older than, the same as or newer
// than another. A version is a positive decimal number of any length, without leading zeros.
func CompareVersions(a, b string) (int, error) {
	for _, v := range []string{a, b} {
		if v == "" || v[0] == '0' || strings.Trim(v, "0123456789") != "" {
			return 0, fmt.Errorf("resourceVersion %q: not a positive decimal number", v)
		}
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)), nil
}

// Condition is a verdict on an object, as Kubernetes has them.
type Condition struct {
	// Type is what is judged: of a Job Valid, Acquired, PodsScheduled, Running or
	// Completed, of a Scheduling Feasible, Acquired, SpecAccepted or Completed.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// Testbed is slots on nodes. All of it is read-only.
type Testbed struct {
	Meta
	Ready bool `json:"ready"`
	// Reason and Message are why it is not ready.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Nodes   int    `json:"nodes"`
	Counts  Counts `json:"counts"`
	// Slots are in the order of their index; only where they were asked for.
	Slots []Slot `json:"slots,omitempty"`
}

// CountSlots counts slots by state: what is shown beside them is of the same time then.
func CountSlots(slots []Slot) Counts {
	c := Counts{Slots: len(slots)}
	for i := range slots {
		switch slots[i].State {
		case slot.Free:
			c.Free++
		case slot.Reserved:
			c.Reserved++
		case slot.Occupied:
			c.Occupied++
		case slot.Pending:
			c.Pending++
		case slot.Retiring:
			c.Retiring++
		}
	}
	return c
}

// Counts are a Testbed's slots by state.
type Counts struct {
	Slots    int `json:"slots"`
	Pending  int `json:"pending"`
	Free     int `json:"free"`
	Reserved int `json:"reserved"`
	Occupied int `json:"occupied"`
	Retiring int `json:"retiring"`
}

// Slot is a slot of a Testbed.
type Slot struct {
	// ID is NODE/POSITION and stays; Index is the slot's rank in its Testbed, from 0, which
	// changes as nodes come and go.
	ID    string `json:"id"`
	Index int    `json:"index"`
	Node  string `json:"nodeName"`
	// NodeID is the node's rank, from 0; nil if the node is no longer the Testbed's.
	NodeID *int `json:"nodeId,omitempty"`
	// Position is the slot's place on its node, from 0.
	Position int        `json:"slotPositionOnNode"`
	State    slot.State `json:"state"`
	// PodNamespace, Pod and PodUID are those of the live pod in the slot.
	PodNamespace string `json:"podNamespace,omitempty"`
	Pod          string `json:"podName,omitempty"`
	PodUID       string `json:"podUId,omitempty"`
	// ReservedFor is the job that has claimed the slot, NAMESPACE/NAME.
	ReservedFor string `json:"reservedFor,omitempty"`
}

// Equal reports whether two slots are the same in everything.
func (s Slot) Equal(other Slot) bool {
	same := s.NodeID == other.NodeID || s.NodeID != nil && other.NodeID != nil && *s.NodeID == *other.NodeID
	s.NodeID, other.NodeID = nil, nil
	return same && s == other
}

// TestbedSlots are the slots of a Testbed, the object of [Slots].
type TestbedSlots struct {
	Meta
	// Slots are in the order of their index.
	Slots []Slot `json:"slots"`
	// Partial is set if Slots are only those that have changed since the last event of this
	// Testbed, and Gone the IDs of those that no longer exist, as in most events of type
	// MODIFIED. Apply has the rule.
	Partial bool     `json:"partial,omitempty"`
	Gone    []string `json:"gone,omitempty"`
}

// Apply returns all the slots after an event, if before were all the slots until then. Neither
// is modified.
func (before TestbedSlots) Apply(next TestbedSlots) TestbedSlots {
	if !next.Partial {
		return next
	}
	changed := make(map[string]bool, len(next.Slots)+len(next.Gone))
	for _, s := range next.Slots {
		changed[s.ID] = true
	}
	for _, id := range next.Gone {
		changed[id] = true
	}
	all := make([]Slot, 0, len(before.Slots)+len(next.Slots))
	for _, s := range before.Slots {
		if !changed[s.ID] {
			all = append(all, s)
		}
	}
	all = append(all, next.Slots...)
	slices.SortFunc(all, func(a, b Slot) int { return cmp.Compare(a.Index, b.Index) })
	return TestbedSlots{Meta: next.Meta, Slots: all}
}

// Job is a job that can run in slots. All but External is read-only.
type Job struct {
	Meta
	// Kind is Job, SparkApplication or FlinkDeployment; empty if it is none of them.
	Kind string `json:"kind"`
	// State is a lifecycle.JobState: Ready, InQueue, Submitted, Scheduled, Running,
	// Completed, Failed or Releasing.
	State string `json:"state"`
	// Reason is why it has failed, or is in the queue again.
	Reason string `json:"reason,omitempty"`
	// ActiveScheduling is the scheduling that has the job, NAMESPACE/NAME.
	ActiveScheduling string `json:"activeScheduling,omitempty"`
	// CreationRequest is what the job is to be, or is, created with.
	CreationRequest *CreationRequest `json:"creationRequest,omitempty"`
	// External is what outside programs keep in the job: a JSON object.
	External   json.RawMessage `json:"externalScheduler,omitempty"`
	Runs       []Run           `json:"runs,omitempty"`
	Conditions []Condition     `json:"conditions,omitempty"`
}

// CreationRequest is where a job is to run.
type CreationRequest struct {
	Testbed string `json:"testbed"`
	// Slots are IDs, NODE/POSITION.
	Slots []string `json:"slots"`
	// Replication is the number of pods: one a slot.
	Replication int `json:"replication"`
	// Attempt numbers all runs of the job, from 1.
	Attempt int `json:"attempt"`
}

// Run is one run of a job.
type Run struct {
	Scheduling string `json:"scheduling"`
	Testbed    string `json:"testbed"`
	// Slots are IDs; those of runs of long ago may be missing.
	Slots   []string `json:"slots,omitempty"`
	Attempt int      `json:"attempt"`
	// Submitted is when the application was created, Scheduled when the last of its pods
	// was bound, Started when the last of them started, and Finished when it ended: in
	// whole seconds, by the clocks of who wrote the objects.
	Submitted *time.Time `json:"submitted,omitempty"`
	Scheduled *time.Time `json:"scheduled,omitempty"`
	Started   *time.Time `json:"started,omitempty"`
	Finished  *time.Time `json:"finished,omitempty"`
	// Outcome is Succeeded, Failed or Cancelled; empty while it runs.
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// SchedulingSpec is what an outside program decides: jobs, each once a slot, in a queue, or
// jobs with the slots of each.
type SchedulingSpec struct {
	// Testbed must not change once the Scheduling is created.
	Testbed string `json:"testbed"`
	// Queue names a job once for each slot that it is to have; the free slots with the
	// lowest indices are theirs in turn. It or Slots is given, not both.
	Queue []string   `json:"queue,omitempty"`
	Slots *SlotBased `json:"slots,omitempty"`
	// Priority: of several Schedulings that wait for slots of one Testbed the highest is
	// served first, of equals the oldest.
	Priority int32 `json:"priority,omitempty"`
	// Exclusive waits until no other Scheduling has slots of the Testbed, and keeps others from
	// having any.
	Exclusive bool `json:"exclusive,omitempty"`
	// Confirm is ConfirmNone (default) or ConfirmEach, OnFailure Continue (default) or Stop.
	Confirm   string `json:"confirm,omitempty"`
	OnFailure string `json:"onFailure,omitempty"`
	// TTLSecondsAfterFinished deletes the Scheduling so long after its end; nil keeps it.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// SlotBased gives each job its slots.
type SlotBased struct {
	// Mode is Strict (default) or Relaxed.
	Mode string    `json:"mode,omitempty"`
	Jobs []SlotJob `json:"jobs"`
}

// SlotJob is a job with its slots, each by ID or by index.
type SlotJob struct {
	Job   string     `json:"job"`
	Slots []slot.Ref `json:"slots"`
}

// Scheduling is a decision and what became of it. All but SchedulingSpec is read-only.
type Scheduling struct {
	Meta
	SchedulingSpec
	// State is a lifecycle.SchedulingState: Acquiring, Confirming, Submitting,
	// AwaitingCompletion, Completed, Failed or Releasing; empty before it was looked at.
	State string `json:"state,omitempty"`
	// Reason is what it waits for, or which of its jobs did not succeed.
	Reason     string          `json:"reason,omitempty"`
	Jobs       []SchedulingJob `json:"jobs,omitempty"`
	Conditions []Condition     `json:"conditions,omitempty"`
	Started    *time.Time      `json:"started,omitempty"`
	Completed  *time.Time      `json:"completed,omitempty"`
	// Author is the name of the caller who created it.
	Author string `json:"author,omitempty"`
}

// SchedulingJob is how a scheduling's job fares.
type SchedulingJob struct {
	Job string `json:"job"`
	// State is the Job's.
	State string `json:"state,omitempty"`
	// Reason is why it has failed, or was deleted before it ended.
	Reason string `json:"reason,omitempty"`
	// Slots are the IDs of those that it has, none before it has any.
	Slots []string `json:"slots,omitempty"`
}

// Plan is what a scheduling would lead to now.
type Plan struct {
	Feasible bool `json:"feasible"`
	// Problems are why it is not.
	Problems []Cause `json:"problems,omitempty"`
	// Plan is a row a job, in the order of the scheduling.
	Plan []Planned `json:"plan"`
}

// Planned is a job and the slots that it would get.
type Planned struct {
	Job   string   `json:"job"`
	Slots []string `json:"slots,omitempty"`
	// Now is set if it would be submitted at once.
	Now bool `json:"now"`
}

// List is a page of objects.
type List[T any] struct {
	Items []T `json:"items"`
	// Continue is where the next page begins, empty on the last one.
	Continue string `json:"continue,omitempty"`
}

// Overview is everything but the slots, and where to go on watching from.
type Overview struct {
	Testbeds    []Testbed    `json:"testbeds"`
	Jobs        []Job        `json:"jobs"`
	Schedulings []Scheduling `json:"schedulings"`
	Cursor      string       `json:"cursor"`
}
