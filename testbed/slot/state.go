package slot

import (
	"slices"
	"strconv"

	"github.com/spazio-scheduler/spazio/testbed"
)

// State is what a slot is in.
type State uint8

// The states of a slot.
const (
	// Pending: no job claims the slot, but its placeholder does not hold its resources: it is
	// not there, not bound, or not of the size that the slot has now.
	Pending State = iota
	// Free: no job claims the slot, and its placeholder holds its resources.
	Free
	// Reserved: the slot is claimed, and its pod has not come.
	Reserved
	// Occupied: a live pod is in the slot.
	Occupied
	// Retiring: the slot is no longer wanted, but claimed or with a live pod in it.
	Retiring
)

var stateNames = []string{"pending", "free", "reserved", "occupied", "retiring"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return strconv.Itoa(int(s))
}

// MarshalText is String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames, string(text))
	if i < 0 {
		return testbed.Refuse("State", string(text), "one of pending, free, reserved, occupied, retiring")
	}
	*s = State(i)
	return nil
}

// Slot is a slot as others see it.
type Slot struct {
	ID ID
	// Index is the slot's rank. Retiring slots, which the order no longer has, are
	// counted on behind the others.
	Index int
	// NodeID is the node's rank, −1 of a node that is no longer the testbed's.
	NodeID int
	State  State
	// Owner is the UID of the job that claims the slot.
	Owner string
	// Namespace, Pod and PodUID name the live pod in the slot.
	Namespace, Pod, PodUID string
}

// Counts are how many slots are in each [State].
type Counts [Retiring + 1]int

// Slots returns how many slots there are.
func (c Counts) Slots() (n int) {
	for _, in := range c {
		n += in
	}
	return n
}

// Op is what an Action does.
type Op string

// What is done about a slot.
const (
	// CreatePlaceholder creates a placeholder of the Action's Name and Size for the slot. That one of
	// this name exists already is a success.
	CreatePlaceholder Op = "create placeholder"
	// DeletePlaceholder deletes the placeholder with the Action's UID. That it is gone is a success.
	DeletePlaceholder Op = "delete placeholder"
	// DeletePod deletes the pod with the Action's UID, because another is in its slot.
	DeletePod Op = "delete pod"
)

// Reasons of actions.
const (
	missing  = "missing"  // a slot without a pod has no placeholder
	entered  = "entered"  // a live pod is in the placeholder's slot
	unwanted = "unwanted" // the slot is no longer the testbed's, or the testbed is idle
	moved    = "moved"    // the placeholder is on another node than its slot
	resized  = "resized"  // the placeholder has another size than the slot
	ended    = "ended"    // the placeholder's containers have ended, so it holds nothing
	double   = "double"   // the slot has another such already
)

// Action is what is to be done about a slot. It is idempotent: carried out twice, it
// does what it does once.
type Action struct {
	Op Op
	// Reason is a word for logs and metrics.
	Reason string
	Slot   ID
	// Namespace and Name name the pod to delete; of a placeholder to create, Name alone is given.
	Namespace, Name string
	// UID is that of the pod to delete, the deletion's precondition.
	UID string
	// Size is that of the placeholder to create.
	Size string
}
