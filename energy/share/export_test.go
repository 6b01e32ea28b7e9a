package share

import (
	"maps"
	"slices"
	"time"
)

// These are exported for comparison with naive versions.

func ParseStat(text []byte) (cpu time.Duration, start uint64, ended bool, err error) {
	s, err := parseStat(text)
	return s.cpu, s.start, s.ended, err
}

var (
	ParseCommand = parseCommand
	ParseScope   = parseScope
	ParseUsage   = parseUsage
)

const (
	MaxGuests = maxGuests
)

var (
	ErrName      = errName
	ErrTooMany   = errTooMany
	ErrNotTmpfs  = errNotTmpfs
	ErrMalformed = errMalformed
	CheckName    = checkName
)

type (
	Divider = divider
	Look    = look
	Tree    = tree
	Zone    = hostZone
)

var NewDivider = newDivider

const (
	Range = counterRange
)

// NewTree returns a tree that shows memory apart if it is to.
func NewTree(dir string, memory bool) (*Tree, error) {
	t, err := newTree(dir)
	if err == nil && memory {
		err = t.showMemory()
	}
	return t, err
}

// SetKeep sets how long a tree outlives its guest.
func (h *Host) SetKeep(d time.Duration) { h.keep = d }

// Published returns the names of the guests that have a tree, sorted.
func (h *Host) Published() []string { return slices.Sorted(maps.Keys(h.seen)) }

func (t *tree) Warning() error            { return t.warning() }
func (t *tree) Guests() ([]string, error) { return t.published() }
func (t *tree) Publish(at time.Time, guest string, joules []float64) error {
	return t.publish(at, guest, joules)
}
func (t *tree) Remove(guest string) error            { return t.forget(guest) }
func (d *divider) Idle() (watts float64, known bool) { return d.idle() }
func (d *divider) Divide(l *look) (Division, error)  { return d.take(l) }
