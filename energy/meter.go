package energy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Defaults and bounds of a Meter.
const (
	DefaultMaxWatts = 1000
	// defaultStep is the unit of Intel's RAPL counters, 2⁻¹⁴ J.
	defaultStep   = 61e-6
	defaultJitter = time.Millisecond
	// MaxMachineWatts is the most that a whole machine takes: more than any server does,
	// and less than the 65,535 W that a controller shows where it knows none.
	MaxMachineWatts = 50_000
	// maxZones bounds the zones that a Meter knows.
	maxZones = 1024
	// maxZoneName bounds a zone's name, in bytes.
	maxZoneName = 256
)

// Reading is what a zone showed.
type Reading struct {
	// Zone is its name, 1 to 256 bytes.
	Zone string
	// Counter is its energy counter in µJ, and Range the counter's greatest value,
	// from which it goes on at 0; a Range of 0 never wraps.
	Counter, Range uint64
	// Gauge reports that the zone shows its power, Watts, and no counter.
	Gauge bool
	Watts float64
	// MaxWatts is the most that the zone can take; 0 means that of the MeterConfig, which
	// is for a processor's package. A zone that is the whole machine has MaxMachineWatts.
	MaxWatts float64
	// Part reports that another zone contains this one: it is shown, and not summed.
	Part bool
	// At is when it was read.
	At time.Time
}

// MeterConfig holds what is known of the counters. The zero value is the documented
// default.
type MeterConfig struct {
	// MaxWatts is the most that one zone can take whose Reading has no bound of its own;
	// 0 means DefaultMaxWatts.
	MaxWatts float64
	// Step is a counter's resolution in joules; 0 means 61e-6.
	Step float64
	// Jitter is how far Reading.At is from when the counter was really read, at
	// most; 0 means a millisecond.
	Jitter time.Duration
}

// Validate returns a *field.Error for the first field that is out of range.
func (c MeterConfig) Validate() error {
	if err := amount("MaxWatts", c.MaxWatts, 1e6); err != nil {
		return err
	}
	if err := amount("Step", c.Step, 1e3); err != nil {
		return err
	}
	if c.Jitter < 0 || c.Jitter > time.Minute {
		return refuse("Jitter", c.Jitter, "in [0, 1m]")
	}
	return nil
}

// Interval is what was taken between two readings.
type Interval struct {
	// From and To are the mean times of the readings that were summed.
	From, To time.Time
	// Joules is the sum of the zones that are no Part, and SD its standard
	// deviation.
	Joules, SD float64
	// Watts is the node's power: the sum of what each zone took by the time between
	// its own two readings, so that a slow zone does not distort the others. It is 0
	// where Partial.
	Watts float64
	// Zones is each zone's share, Parts included. It belongs to the Meter and is
	// valid until the next Add.
	Zones []ZoneJoules
	// Packages is what each of the machine's processor packages took of Joules: the zones
	// named package-…, with those that they contain. It is nil where Partial, and belongs
	// to the Meter as Zones does; a package's place in it never changes.
	Packages []float64
	// Partial reports that a zone is missing from Joules.
	Partial bool
}

// ZoneJoules is what a zone took in an interval.
type ZoneJoules struct {
	Zone       string
	Joules, SD float64
	Watts      float64
	Part       bool
}

// ZoneTotal is what a zone has taken since its Meter began.
type ZoneTotal struct {
	Zone   string
	Joules float64
	// Refused counts the readings whose energy is not in Joules.
	Refused uint64
	Part    bool
}

// Meter makes intervals of readings. It is for one goroutine.
type Meter struct {
	maxWatts, step, jitter float64
	zones                  []meterZone
	taken                  []ZoneJoules
	packages               []float64 // joules of the last interval
	adds                   uint64
}

type meterZone struct {
	last   Reading
	pkg    int // its place in Meter.packages, or noPackage
	primed bool
	seen   uint64 // the Add that showed it last
	// Counters are summed in whole µJ, so that a total of years is exact.
	micro   uint64
	joules  float64 // of gauges
	refused uint64
}

// NewMeter returns a meter that has read nothing. The error is that of
// [MeterConfig.Validate].
func NewMeter(c MeterConfig) (*Meter, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Meter{
		maxWatts: cmp.Or(c.MaxWatts, DefaultMaxWatts), step: cmp.Or(c.Step, defaultStep),
		jitter: cmp.Or(c.Jitter, defaultJitter).Seconds(),
	}, nil
}

// Add takes one reading of each zone and returns the interval since the readings
// before. The first returns ErrPriming. A reading that makes no interval is a
// *ZoneError, of several joined: the zone starts anew from it, its energy is not
// counted, and the other zones are as they would be without. Readings that can't be
// distinguished, or that are no numbers, are a *field.Error and change nothing.
func (m *Meter) Add(readings []Reading) (Interval, error) {
	if err := m.check(readings); err != nil {
		return Interval{}, err
	}
	first := len(m.zones) == 0
	m.adds++
	m.taken = m.taken[:0]
	clear(m.packages)
	var sum intervalSum
	var refused []error
	for i := range readings {
		r := &readings[i]
		z := m.find(r.Zone, i)
		from := z.last.At
		taken, err := m.advance(z, r)
		z.seen = m.adds
		switch {
		case err != nil:
			z.refused++
			sum.partial = sum.partial || !r.Part
			refused = append(refused, &ZoneError{r.Zone, err})
		default:
			m.taken = append(m.taken, taken)
			sum.add(taken, from, r.At)
			m.addPackage(z, taken.Joules)
		}
	}
	for i := range m.zones {
		if z := &m.zones[i]; z.primed && z.seen != m.adds {
			z.primed = false
			z.refused++
			sum.partial = sum.partial || !z.last.Part
			refused = append(refused, &ZoneError{z.last.Zone, errMissing})
		}
	}
	if first {
		return Interval{}, ErrPriming
	}
	in := sum.interval()
	in.Zones = m.taken
	if !in.Partial && len(m.packages) > 0 {
		in.Packages = m.packages
	}
	if len(refused) == 1 {
		return in, refused[0]
	}
	return in, errors.Join(refused...) // nil of none
}

// check refuses what no Add can begin with.
func (m *Meter) check(readings []Reading) error {
	if len(readings) == 0 {
		return refuse("len(readings)", 0, "positive")
	}
	unknown := 0
	for i := range readings {
		r := &readings[i]
		if len(r.Zone) == 0 || len(r.Zone) > maxZoneName {
			return refuse(element("readings", i, "Zone"), r.Zone, "of 1 to 256 bytes")
		}
		if r.Gauge && !(r.Watts >= 0 && r.Watts <= math.MaxFloat32) {
			return refuse(element("readings", i, "Watts"), r.Watts, "a power")
		}
		if !(r.MaxWatts >= 0 && r.MaxWatts <= MaxWatts) {
			return refuse(element("readings", i, "MaxWatts"), r.MaxWatts, "in [0, 1e6]")
		}
		for j := range i {
			if readings[j].Zone == r.Zone {
				return refuse(element("readings", i, "Zone"), r.Zone, "read once")
			}
		}
		if m.lookup(r.Zone, i) == nil {
			unknown++
		}
	}
	if n := len(m.zones) + unknown; n > maxZones {
		return refuse("len(readings)", len(readings), "of at most "+strconv.Itoa(maxZones)+" zones in all")
	}
	return nil
}

// lookup returns the zone, which is usually where it was the last time, or nil.
func (m *Meter) lookup(name string, at int) *meterZone {
	if at < len(m.zones) && m.zones[at].last.Zone == name {
		return &m.zones[at]
	}
	for i := range m.zones {
		if m.zones[i].last.Zone == name {
			return &m.zones[i]
		}
	}
	return nil
}

// find is lookup of a zone that is made if it is new.
func (m *Meter) find(name string, at int) *meterZone {
	if z := m.lookup(name, at); z != nil {
		return z
	}
	m.zones = append(m.zones, meterZone{last: Reading{Zone: name}, pkg: noPackage})
	return &m.zones[len(m.zones)-1]
}

// noPackage is the place of a zone that is of none.
const noPackage = -1

// addPackage adds what a zone took to its package. A zone that is only a part has none, so
// that a package that mirrors another, or that psys contains, does not look as if it took
// nothing.
func (m *Meter) addPackage(z *meterZone, joules float64) {
	if z.last.Part {
		return
	}
	if z.pkg == noPackage {
		z.pkg = m.packageOf(z.last.Zone)
	}
	if z.pkg != noPackage {
		m.packages[z.pkg] += joules
	}
}

// packageOf is the place of the package that a zone is of, which is made for its first.
func (m *Meter) packageOf(zone string) int {
	name, _, _ := strings.Cut(zone, "/")
	if !strings.HasPrefix(name, "package-") {
		return noPackage
	}
	for i := range m.zones {
		if other, _, _ := strings.Cut(m.zones[i].last.Zone, "/"); other == name && m.zones[i].pkg != noPackage {
			return m.zones[i].pkg
		}
	}
	m.packages = append(m.packages, 0)
	return len(m.packages) - 1
}

// advance takes a zone to its new reading and returns what it took since the last.
func (m *Meter) advance(z *meterZone, r *Reading) (ZoneJoules, error) {
	last, primed := z.last, z.primed
	z.last, z.primed = *r, true
	if r.Gauge {
		z.last.Counter, z.last.Range = 0, 0
	} else {
		z.last.Watts = 0
	}
	if !r.Gauge && r.Range > 0 && r.Counter > r.Range {
		z.primed = false // the distance to the wrap is not known from it
		return ZoneJoules{}, fmt.Errorf("%w: its counter is at %d µJ, beyond its range of %d µJ", ErrImplausible, r.Counter, r.Range)
	}
	if !primed || last.Gauge != r.Gauge || last.Range != z.last.Range || last.Part != r.Part {
		return ZoneJoules{}, ErrPriming
	}
	seconds := r.At.Sub(last.At).Seconds()
	if seconds <= 0 {
		return ZoneJoules{}, errNoInterval
	}
	taken := ZoneJoules{Zone: r.Zone, Part: r.Part}
	if r.Gauge {
		if watts, most := max(last.Watts, r.Watts), m.most(r); watts > most {
			return ZoneJoules{}, tooMuch(watts, most)
		}
		taken.Joules = (last.Watts + r.Watts) / 2 * seconds
		taken.SD = math.Abs(r.Watts-last.Watts) * seconds / math.Sqrt(12)
		z.joules += taken.Joules
	} else {
		micro, err := m.counted(&last, r, seconds)
		if err != nil {
			return ZoneJoules{}, err
		}
		z.micro += micro
		taken.Joules = float64(micro) * 1e-6
		taken.SD = math.Sqrt((m.step*m.step + square(taken.Joules/seconds*m.jitter)) / 6)
	}
	taken.Watts = taken.Joules / seconds
	return taken, nil
}

// most is the most watts that a zone can take.
func (m *Meter) most(r *Reading) float64 {
	if r.MaxWatts > 0 {
		return r.MaxWatts
	}
	return m.maxWatts
}

// tooMuch is an ErrImplausible that names the power and its bound.
func tooMuch(watts, most float64) error {
	return fmt.Errorf("%w: %.0f W, where the bound is %.0f W", ErrImplausible, watts, most)
}

// counted is what a counter has advanced by, in µJ.
func (m *Meter) counted(last, now *Reading, seconds float64) (uint64, error) {
	most := m.most(now) * seconds * 1e6
	if now.Range > 0 && most >= float64(now.Range) {
		return 0, errGap
	}
	var delta uint64
	switch {
	case now.Counter >= last.Counter:
		delta = now.Counter - last.Counter
	case now.Range > 0:
		delta = now.Range - last.Counter + now.Counter
	default:
		return 0, ErrBackwards
	}
	if float64(delta) > most {
		return 0, tooMuch(float64(delta)/seconds*1e-6, m.most(now))
	}
	return delta, nil
}

// TotalsTo puts what each zone has taken into dst, in the place of what it holds, grown as
// append does, and returns it, in the order in which zones were first read; zones that are
// gone stay.
func (m *Meter) TotalsTo(dst []ZoneTotal) []ZoneTotal {
	dst = dst[:0]
	for i := range m.zones {
		z := &m.zones[i]
		dst = append(dst, ZoneTotal{
			Zone: z.last.Zone, Part: z.last.Part, Refused: z.refused,
			Joules: z.joules + float64(z.micro)*1e-6,
		})
	}
	return dst
}

// Rebase makes every zone begin anew, as when another source reads the same zones:
// the next Add makes no interval, and totals stay.
func (m *Meter) Rebase() {
	for i := range m.zones {
		m.zones[i].primed = false
	}
}

// intervalSum gathers the zones that are no Part.
type intervalSum struct {
	joules, variance, watts float64
	origin                  time.Time
	from, to                time.Duration // sums, relative to origin
	zones                   int
	partial                 bool
}

func (s *intervalSum) add(z ZoneJoules, from, to time.Time) {
	if z.Part {
		return
	}
	if s.zones == 0 {
		s.origin = to
	}
	s.zones++
	s.from += from.Sub(s.origin)
	s.to += to.Sub(s.origin)
	s.joules += z.Joules
	s.variance += z.SD * z.SD
	s.watts += z.Watts
}

func (s *intervalSum) interval() Interval {
	in := Interval{Joules: s.joules, SD: math.Sqrt(s.variance), Watts: s.watts, Partial: s.partial || s.zones == 0}
	if in.Partial {
		in.Watts = 0
	}
	if s.zones > 0 {
		n := time.Duration(s.zones)
		in.From, in.To = s.origin.Add(s.from/n), s.origin.Add(s.to/n)
	}
	return in
}

func square(x float64) float64 { return x * x }

// element names a field of an element of an argument.
func element(argument string, i int, field string) string {
	return argument + "[" + strconv.Itoa(i) + "]." + field
}
