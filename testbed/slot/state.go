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
