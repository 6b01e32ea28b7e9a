package share

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// Period is the time between two publications: what a guest can see of the others must be coarse,
// and a guest takes what is much older for stale.
const Period = source.SharedPeriod

// keep is how long a tree outlives its guest, which goes on with it if it is back before.
const keep = 10 * time.Minute

// HostConfig describes what is divided among whom. Dir, Source, CPU and Guests are required.
type HostConfig struct {
	// Dir is where trees are published, best on tmpfs.
	Dir string
	// Source shows what the machine takes. It belongs to the Host, which does not close
	// it.
	Source source.Source
	// CPU returns the CPU time that all of the machine has taken since it was started,
	// summed over its CPUs, and how many it has.
	CPU func() (busy time.Duration, cores int, err error)
	// Guests puts those that run into a slice, sorted by name; a *Finder does.
	Guests interface {
		GuestsTo([]Guest) ([]Guest, error)
	}
	// Divider describes how. Its Curve is that of a modelled power alone: others are learnt.
	Divider DividerConfig
}

// Host divides a machine's energy among its guests and publishes their parts, each time
// that Share is called. It is for one goroutine.
type Host struct {
	config  HostConfig
	keep    time.Duration // other than keep in tests
	tree    *tree
	memory  bool   // the trees show memory apart
	source  string // whose energy the divider has seen
	divider *divider

	readings []energy.Reading
	guests   []Guest
	seen     map[string]time.Time // when each guest that has a tree last ran
	totals   totals
}

// totals is what a Host has divided since it began. Its maps belong to the Host.
type totals struct {
	// Guests are the joules of each guest that has a tree.
	Guests map[string]float64
	// Rest is what no guest was charged; Ended are the joules of those whose trees are
	// gone.
	Rest energy.Rest
	// Zones are the joules of the machine, by what measured them.
	Zones map[hostZone]float64
	// Refused counts, by cause, readings that made no interval, what could not be read
	// and guests that could not be published.
	Refused map[string]uint64
}

// hostZone is a zone of a source.
type hostZone struct {
	Source, Zone string
	Part         bool // contained in another zone
}

// Causes of what a Host refuses, besides those of an energy.ZoneError.
const (
	// refusedSource is a source of energy that could not be read.
	refusedSource = "source"
	// refusedCPU is the machine's CPU time that could not be read, or that of a guest or the
	// machine that can't be: it ran backwards or grew by more than there was.
	refusedCPU = "cpu"
	// refusedGuests is that guests could not be looked for.
	refusedGuests = "guests"
	// refusedPublish is a guest's tree that could not be written, each time.
	refusedPublish = "publish"
)

// NewHost opens the trees. The error is an *field.Error, ErrLocked, or the file
// system's.
func NewHost(c HostConfig) (*Host, error) {
	switch {
	case c.Dir == "":
		return nil, refuse("Dir", c.Dir, "given")
	case c.Source == nil:
		return nil, refuse("Source", nil, "given")
	case c.CPU == nil:
		return nil, refuse("CPU", nil, "given")
	case c.Guests == nil:
		return nil, refuse("Guests", nil, "given")
	}
	if err := c.Divider.Validate(); err != nil {
		return nil, err
	}
	h := &Host{
		config: c, keep: keep, seen: map[string]time.Time{},
		totals: totals{Guests: map[string]float64{}, Zones: map[hostZone]float64{}, Refused: map[string]uint64{}},
	}
	var err error
	if h.tree, err = newTree(c.Dir); err != nil {
		return nil, err
	}
	left, err := h.tree.published()
	if err != nil {
		return nil, errors.Join(err, h.tree.Close())
	}
	for _, guest := range left {
		h.seen[guest] = time.Time{} // from the first time on
	}
	return h, nil
}

// Warning is an *field.Error where the Host publishes on a disk, where each publication is
// written, and nil on tmpfs.
func (h *Host) Warning() error { return h.tree.warning() }

// Close lets another go on with the trees.
func (h *Host) Close() error { return h.tree.Close() }

// Totals returns what was divided so far.
func (h *Host) Totals() *totals { return &h.totals }

// Guests are those of the last look. They belong to the Host.
func (h *Host) Guests() []Guest { return h.guests }

// Share reads what the machine has taken until now, at, divides it and publishes each
// guest's part. Where nothing can be divided the Division's To is zero, nothing is
// published and the error gives the reason; what was taken meanwhile is divided the next time,
// if it can be. An error beside a Division is of a zone or a guest that is missing from it, or of guests that
// could not be published: what the latter took is published the next time.
func (h *Host) Share(at time.Time) (Division, error) {
	begun := time.Now()
	readings, err := h.config.Source.ReadTo(h.readings, at)
	h.readings = readings
	if len(readings) == 0 {
		if !errors.Is(err, source.ErrUnchanged) {
			h.totals.Refused[refusedSource]++
		}
		return Division{}, err
	}
	look := look{At: at.Add(time.Since(begun)), Readings: readings} // a source may be slow
	var failed error
	if look.Busy, look.Cores, failed = h.config.CPU(); failed != nil {
		h.totals.Refused[refusedCPU]++
		return Division{}, errors.Join(err, failed)
	}
	if h.guests, failed = h.config.Guests.GuestsTo(h.guests); failed != nil {
		h.totals.Refused[refusedGuests]++
		return Division{}, errors.Join(err, failed)
	}
	look.Guests = h.guests
	if failed = h.follow(); failed != nil {
		return Division{}, errors.Join(err, failed)
	}
	found, failed := h.divider.take(&look)
	h.refuse(failed)
	if found.To.IsZero() {
		return Division{}, errors.Join(err, failed)
	}
	found.Partial = found.Partial || err != nil // a zone that can't be read is not in it
	h.add(&found)
	return found, errors.Join(err, failed, h.publish(at, &found))
}

// follow begins anew where another source is read: powers of two are none of one curve.
func (h *Host) follow() (err error) {
	name := h.config.Source.Name()
	if h.divider != nil && h.source == name {
		return nil
	}
	c := h.config.Divider
	if h.config.Source.Quality() != energy.Modelled {
		c.Curve = energy.CurveConfig{Gain: c.Curve.Gain}
	}
	h.divider, err = newDivider(c)
	h.source = name
	return err
}

// refuse counts what a meter has refused. A zone's first reading is none.
func (h *Host) refuse(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			h.refuse(one)
		}
		return
	}
	if err == nil || errors.Is(err, energy.ErrPriming) {
		return
	}
	cause := refusedMalformed
	if zone := (*energy.ZoneError)(nil); errors.As(err, &zone) {
		cause = zone.Cause()
	} else if errors.Is(err, energy.ErrImplausible) || errors.Is(err, energy.ErrBackwards) {
		cause = refusedCPU
	}
	h.totals.Refused[cause]++
}

// add adds a division to the totals.
func (h *Host) add(found *Division) {
	for _, p := range found.Parts {
		h.totals.Guests[p.Guest] += p.Joules
	}
	h.totals.Rest.Idle += found.Rest.Idle
	h.totals.Rest.System += found.Rest.System
	for _, z := range found.zones {
		h.totals.Zones[hostZone{h.source, z.Zone, z.Part}] += z.Joules
	}
}

// publish shows each guest's part in its tree, and nothing in that of one which is new.
func (h *Host) publish(at time.Time, found *Division) error {
	failed := []error{h.prune(at)}
	if found.Memory > 0 && !h.memory {
		h.memory = true
		failed = append(failed, h.tree.showMemory())
	}
	parts := found.Parts
	for _, g := range h.guests {
		joules := 0.
		if len(parts) > 0 && parts[0].Guest == g.Name {
			joules, parts = parts[0].Joules, parts[1:]
		}
		zones := [...]float64{joules * (1 - found.Memory), joules * found.Memory}
		if err := h.tree.publish(found.To, g.Name, zones[:len(h.tree.zones)]); err != nil {
			h.totals.Refused[refusedPublish]++
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// prune takes away the trees of guests that have not run for long, and of as many of the
// others, the longest gone first, as there are beyond maxGuests.
func (h *Host) prune(at time.Time) error {
	for _, g := range h.guests {
		h.seen[g.Name] = at
	}
	var gone []string
	for guest, last := range h.seen {
		if last.IsZero() {
			h.seen[guest] = at
		} else if last.Before(at) {
			gone = append(gone, guest)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.SortFunc(gone, func(a, b string) int { return cmp.Or(h.seen[a].Compare(h.seen[b]), strings.Compare(a, b)) })
	var failed []error
	for _, guest := range gone {
		if at.Sub(h.seen[guest]) < h.keep && len(h.seen) <= maxGuests {
			break
		}
		failed = append(failed, h.tree.forget(guest))
		h.totals.Rest.Ended += h.totals.Guests[guest]
		delete(h.totals.Guests, guest)
		delete(h.seen, guest)
	}
	return errors.Join(failed...)
}
