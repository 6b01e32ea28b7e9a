package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error of this package wraps.
var ErrInvalid = errors.New("invalid change")

func refuse(name string, value any, wanted string) error {
	return &field.Error{Package: "hub", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, wanted)}
}

// Change is server.Change, field by field: the two convert.
type Change struct {
	Type      string
	Kind      wire.Kind
	Namespace string
	Name      string
	UID       string
	Version   string
	Object    any
	At        time.Time
}

// kindSet is a set of kinds by their rank.
type kindSet uint8

// kinds are in the order of their ranks, which cursors depend on.
var kinds = [...]wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}

const slotsRank = 1

func rank(k wire.Kind) (int, bool) {
	for i, known := range kinds {
		if k == known {
			return i, true
		}
	}
	return 0, false
}

func (s kindSet) has(rank int) bool { return s&(1<<rank) != 0 }

// update is a Change that has been checked.
type update struct {
	key     key
	op      string
	version uint64
	raw     []byte             // of all kinds but slots
	slots   *wire.TestbedSlots // of slots
}

// key is what an object is known by: another UID is another object.
type key struct {
	rank                 int
	namespace, name, uid string
}

func (c Change) check() (update, error) {
	r, ok := rank(c.Kind)
	if !ok {
		return update{}, refuse("Kind", c.Kind, "testbeds, slots, jobs or schedulings")
	}
	version, err := strconv.ParseUint(c.Version, 10, 64)
	if err != nil || version == 0 {
		return update{}, refuse("Version", c.Version, "a positive decimal number below 2^64")
	}
	u := update{key: key{r, c.Namespace, c.Name, c.UID}, op: c.Type, version: version}
	switch c.Type {
	case wire.Bookmark:
		return u, nil
	case wire.Added, wire.Modified, wire.Deleted:
	default:
		return update{}, refuse("Type", c.Type, "ADDED, MODIFIED, DELETED or BOOKMARK")
	}
	if c.Name == "" {
		return update{}, refuse("Name", c.Name, "given")
	}
	if r == slotsRank {
		all, ok := c.Object.(wire.TestbedSlots)
		if !ok || all.Partial {
			return update{}, refuse("Object", fmt.Sprintf("%T", c.Object), "a whole wire.TestbedSlots")
		}
		u.slots = &all
		return u, nil
	}
	if u.raw, err = json.Marshal(c.Object); err != nil {
		return update{}, &field.Error{Package: "hub", Field: "Object", Value: fmt.Sprintf("%T", c.Object), Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
	}
	return u, nil
}
