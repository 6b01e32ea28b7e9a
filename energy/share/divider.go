package share

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

// Idle selects which guests are charged what the machine takes without load. The zero value
// is IdleVCPU.
type Idle string

const (
	// IdleVCPU charges each by its virtual CPUs of the machine's CPUs: what no guest was
	// given stays the machine's.
	IdleVCPU Idle = "vcpu"
	// IdleEven charges all guests alike, with all of it.
	IdleEven Idle = "even"
	// IdleNone charges no guest.
	IdleNone Idle = "none"
)

// DividerConfig describes how a machine's energy is divided. The zero value is the documented
// default.
type DividerConfig struct {
	Idle Idle
	// Meter is what is known of the machine's counters.
	Meter energy.MeterConfig
	// Curve is what is known of its power before it was measured.
	Curve energy.CurveConfig
}

// look is what was seen of a machine at a time.
type look struct {
	// At is when Busy and Guests were read; zero means at the mean time of Readings.
	At time.Time
	// Readings are those of its energy.
	Readings []energy.Reading
	// Busy is the CPU time that all of it has taken since it was started, and Cores its
	// CPUs.
	Busy  time.Duration
	Cores int
	// Guests are those that run, sorted by name, each once.
	Guests []Guest
}

// part is what a guest is charged.
type part struct {
	Guest string
	// Joules is all of it, SD its standard deviation and Idle the idle energy in it.
	Joules, SD, Idle float64
}

// Division is what a machine took between two looks and which guests are charged with it.
type Division struct {
	From, To time.Time
	// Joules is all of it: the sum of Parts and of Rest.
	Joules float64
	// Memory is the share of it that memory took, in [0, 1]. That of a guest is the
	// same.
	Memory float64
	// Partial reports that some of the machine's zones are not in it.
	Partial bool
	// Parts are of the guests that were in the look before, too, in their order. They belong
	// to the Host until its next look.
	Parts []part
	Rest  energy.Rest
	// zones is what each of the machine's zones took, in which what another contains is a
	// Part.
	zones []energy.ZoneJoules
}

// divider divides a machine's energy among its guests, by what it sees of it in one look
// after the other. Guests are charged by their CPU time, at the machine's own price of a
// core-second, and by [Idle]. A guest is charged from its second look on. It is for one
// goroutine.
type divider struct {
	config  DividerConfig
	meter   *energy.Meter
	curve   *energy.Curve
	at      time.Time
	busy    time.Duration
	primed  bool // at, busy and last are of a look
	last    map[string]Guest
	account energy.Account
	names   []string
	shares  []energy.Share
	parts   []part
}

// Validate returns an *field.Error for the first field that is out of range.
func (c DividerConfig) Validate() error {
	if !slices.Contains([]Idle{"", IdleVCPU, IdleEven, IdleNone}, c.Idle) {
		return refuse("Idle", c.Idle, "one of vcpu, even, none")
	}
	if err := c.Meter.Validate(); err != nil {
		return err
	}
	return c.Curve.Validate()
}

// newDivider returns a divider that has seen nothing. The error is that of
// [DividerConfig.Validate].
func newDivider(c DividerConfig) (*divider, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Idle = cmp.Or(c.Idle, IdleVCPU)
	meter, err := energy.NewMeter(c.Meter)
	if err != nil {
		return nil, err
	}
	curve, err := energy.NewCurve(c.Curve)
	if err != nil {
		return nil, err
	}
	return &divider{config: c, meter: meter, curve: curve, last: map[string]Guest{}}, nil
}

// idle returns the machine's power without load in watts: what was learnt of it or, before,
// what DividerConfig.Curve gives. known is false where it is neither.
func (d *divider) idle() (watts float64, known bool) {
	if watts, known = d.curve.Idle(); known || d.config.Curve.Max == 0 {
		return watts, known
	}
	level, known := d.curve.At(0)
	return level.Watts, known
}

// take takes a look. The first gives energy.ErrPriming. A zone whose reading makes no
// interval is an *energy.ZoneError beside a Division of the others; its To is zero if there
// are none. A guest whose CPU time ran backwards, or grew by more than the machine's cores
// can have given, is an error beside a Division in which it is no Part and its neighbours are
// charged as ever; where the machine's own did, no guest is a Part and all is of the Rest. A look
// that can't be one is an *field.Error and changes nothing.
func (d *divider) take(l *look) (Division, error) {
	if err := l.check(); err != nil {
		return Division{}, err
	}
	in, err := d.meter.Add(l.Readings)
	if field.By(err, "energy") != nil {
		return Division{}, err
	}
	primed := d.primed
	at := l.At
	if at.IsZero() {
		at = in.To
	}
	span := at.Sub(d.at)
	bad := d.consume(l, span)
	busy, badBusy := energy.GrownTime(d.busy, l.Busy, span, float64(l.Cores))
	d.at, d.busy, d.primed = at, l.Busy, true
	if !primed {
		return Division{}, err
	}
	if badBusy != nil {
		badBusy = fmt.Errorf("share: the machine's CPU time: %w", badBusy)
	}
	if in.To.IsZero() {
		return Division{}, errors.Join(err, bad, badBusy)
	}
	if badBusy != nil {
		return undivided(in), errors.Join(err, bad, badBusy)
	}
	found, failed := d.divide(l, in, busy.Seconds())
	return found, errors.Join(err, bad, failed)
}

// check refuses what is no look.
func (l *look) check() error {
	switch {
	case l.Busy < 0:
		return refuse("Busy", l.Busy, "a CPU time")
	case l.Cores < 1 || l.Cores > 1<<20:
		return refuse("Cores", l.Cores, "in 1 to 2^20")
	case len(l.Guests) > maxGuests:
		return refuse("len(Guests)", len(l.Guests), "at most MaxGuests")
	}
	for i, g := range l.Guests {
		switch {
		case g.CPU < 0:
			return refuse("Guests.CPU", g.CPU, "a CPU time")
		case g.VCPUs < 0 || g.VCPUs > 1<<20:
			return refuse("Guests.VCPUs", g.VCPUs, "in 0 to 2^20")
		case i > 0 && g.Name <= l.Guests[i-1].Name:
			return refuse("Guests.Name", g.Name, "sorted, each once")
		}
	}
	return nil
}

// consume makes consumers of the guests that were in the look before, and remembers all. The
// error names each that has taken more than the machine had in the span, or less than before.
func (d *divider) consume(l *look, span time.Duration) error {
	d.names, d.account.Consumers, d.account.Weights = d.names[:0], d.account.Consumers[:0], 0
	var refused []error
	for _, g := range l.Guests {
		last, ok := d.last[g.Name]
		if !ok || last.Instance != g.Instance {
			continue
		}
		weight := 0.
		switch d.config.Idle {
		case IdleVCPU:
			weight = float64(g.VCPUs)
		case IdleEven:
			weight = 1
		}
		d.account.Weights += weight // a refused guest keeps its part, which is not divided among the others
		used, err := energy.GrownTime(last.CPU, g.CPU, span, float64(l.Cores))
		if err != nil {
			refused = append(refused, fmt.Errorf("share: guest %q: %w", g.Name, err))
			continue
		}
		d.names = append(d.names, g.Name)
		d.account.Consumers = append(d.account.Consumers, energy.Consumer{
			Key: uint64(len(d.names)), CPU: used.Seconds(), Weight: weight,
		})
	}
	clear(d.last)
	for _, g := range l.Guests {
		d.last[g.Name] = g
	}
	return errors.Join(refused...)
}

// divide charges the consumers with an interval.
func (d *divider) divide(l *look, in energy.Interval, busy float64) (Division, error) {
	seconds := in.To.Sub(in.From).Seconds()
	u := min(busy/(seconds*float64(l.Cores)), 1)
	a := &d.account
	a.Joules, a.SD, a.Busy, a.Capacity = in.Joules, in.SD, busy, seconds*float64(l.Cores)
	if d.config.Idle == IdleVCPU {
		a.Weights = max(a.Weights, float64(l.Cores))
	}
	if !in.Partial { // the curve is that of all zones
		if err := d.curve.Learn(u, min(in.Watts, energy.MaxWatts)); err != nil {
			return Division{}, err
		}
	}
	idle, known := d.idle()
	a.Idle, a.IdleKnown = idle*seconds, known && !in.Partial
	a.Residual = math.Hypot(d.curve.Residual(u), d.curve.Uneven(u, seconds, in.Packages))
	split := energy.Split{}
	if d.config.Idle != IdleNone {
		split.Idle = energy.ByWeight
	}
	shares, rest, err := split.AttributeTo(d.shares, a)
	if err != nil {
		return Division{}, err
	}
	d.shares, d.parts = shares, d.parts[:0]
	for i, s := range shares {
		d.parts = append(d.parts, part{d.names[i], s.Joules, s.SD, s.Idle})
	}
	found := undivided(in)
	found.Parts, found.Rest = d.parts, rest
	return found, nil
}

// undivided is an interval of which no guest is charged anything.
func undivided(in energy.Interval) Division {
	return Division{
		From: in.From, To: in.To, Joules: in.Joules, Memory: memory(in), Partial: in.Partial, zones: in.Zones,
		Rest: energy.Rest{System: in.Joules},
	}
}

// memory is the share of memory's zones in an interval.
func memory(in energy.Interval) float64 {
	var joules float64
	for _, z := range in.Zones {
		if !z.Part && strings.HasSuffix(z.Zone, "/dram") {
			joules += z.Joules
		}
	}
	if in.Joules <= 0 {
		return 0
	}
	return min(joules/in.Joules, 1)
}
