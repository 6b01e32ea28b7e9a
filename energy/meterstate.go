package energy

import "math"

// MeterState is what a Meter has read, a plain value: what a program writes down so
// that its totals outlive it.
type MeterState struct {
	Zones []ZoneState
}

// ZoneState is a zone of a MeterState.
type ZoneState struct {
	// Last is the newest reading, from which the zone goes on if it is Primed.
	Last   Reading
	Primed bool
	// MicroJoules is the sum of what its counter has counted, Joules that of what it
	// has shown as a gauge.
	MicroJoules uint64
	Joules      float64
	Refused     uint64
}

// Validate returns a *field.Error for the first field that no Meter can have made.
func (s MeterState) Validate() error {
	if len(s.Zones) > MaxZones {
		return refuse("len(Zones)", len(s.Zones), "at most 1024")
	}
	names := make(map[string]bool, len(s.Zones))
	for i, z := range s.Zones {
		switch r := z.Last; {
		case len(r.Zone) == 0 || len(r.Zone) > maxZoneName:
			return refuse(element("Zones", i, "Last.Zone"), r.Zone, "of 1 to 256 bytes")
		case names[r.Zone]:
			return refuse(element("Zones", i, "Last.Zone"), r.Zone, "told once")
		case !(r.Watts >= 0 && r.Watts <= math.MaxFloat32):
			return refuse(element("Zones", i, "Last.Watts"), r.Watts, "a power")
		case !(r.MaxWatts >= 0 && r.MaxWatts <= MaxWatts):
			return refuse(element("Zones", i, "Last.MaxWatts"), r.MaxWatts, "in [0, 1e6]")
		case z.Primed && !r.Gauge && r.Range > 0 && r.Counter > r.Range:
			return refuse(element("Zones", i, "Last.Counter"), r.Counter, "at most its range")
		case !(z.Joules >= 0 && z.Joules <= math.MaxFloat64):
			return refuse(element("Zones", i, "Joules"), z.Joules, "an energy")
		}
		names[z.Last.Zone] = true
	}
	return nil
}

// State returns a copy of what the meter has read. Times are without a monotonic
// part, as they will be when the state is read again.
func (m *Meter) State() MeterState {
	s := MeterState{Zones: make([]ZoneState, len(m.zones))}
	for i, z := range m.zones {
		z.last.At = z.last.At.Round(0)
		s.Zones[i] = ZoneState{z.last, z.primed, z.micro, z.joules, z.refused}
	}
	return s
}

// SetState makes the meter go on from s: the next Add makes an interval of what the
// counters have counted since, if that is still known. A state that is not valid is
// a *field.Error and changes nothing.
func (m *Meter) SetState(s MeterState) error {
	if err := s.Validate(); err != nil {
		return err
	}
	m.zones, m.packages = make([]meterZone, 0, len(s.Zones)), nil
	for _, z := range s.Zones {
		m.zones = append(m.zones, meterZone{
			last: z.Last, pkg: noPackage, primed: z.Primed, micro: z.MicroJoules, joules: z.Joules, refused: z.Refused,
		})
		m.addPackage(&m.zones[len(m.zones)-1], 0)
	}
	m.adds = 0
	return nil
}

// Rebase makes every zone begin anew, as when another source reads the same zones:
// the next Add makes no interval, and totals stay.
func (m *Meter) Rebase() {
	for i := range m.zones {
		m.zones[i].primed = false
	}
}
