package slot

import (
	"fmt"
	"slices"

	"github.com/spazio-scheduler/spazio/testbed"
)

// State is what a slot is in.
type State uint8

// The states of a slot.
const (
	// Pending: nobody claims the slot, but its ghost does not hold its resources: it is
	// not there, not bound, or not of the size that the slot has now.
	Pending State = iota
	// Free: nobody claims the slot, and its ghost holds its resources.
	Free
	// Reserved: the slot is claimed, and its pod has not come.
	Reserved
	// Occupied: a live pod is in the slot.
	Occupied
	// Retiring: the slot is no longer wanted, but claimed or with a live pod in it.
	Retiring
)

var stateNames = []string{"pending", "free", "reserved", "occupied", "retiring"}

func (s State) String() string { return nameOf(stateNames, s) }

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

// nameOf returns the name of a constant, or its number if it has none.
func nameOf[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprint(uint8(i))
}

// Slot is a slot as others see it.
type Slot struct {
	ID ID
	// Index is the slot's rank. Retiring slots, which the order no longer has, are
	// counted on behind the others.
	Index int
	// NodeID is the node's rank; Gone says that the node is no longer the testbed's.
	NodeID int
	Gone   bool
	State  State
	// Owner is who claims the slot, a job's UID.
	Owner string
	// Namespace, Pod and PodUID name the live pod in the slot.
	Namespace, Pod, PodUID string
}

// Counts are how many slots are in each state.
type Counts struct {
	Slots, Free, Reserved, Occupied, Pending, Retiring int
}

// add counts a slot in the state, or takes one away again with −1.
func (c *Counts) add(s State, n int) {
	c.Slots += n
	switch s {
	case Pending:
		c.Pending += n
	case Free:
		c.Free += n
	case Reserved:
		c.Reserved += n
	case Occupied:
		c.Occupied += n
	case Retiring:
		c.Retiring += n
	}
}
