package node

import "math"

// Power is what a node takes in watts, by the share u of its cores that threads hold:
//
//	Idle + (Max − Idle)·u                 where Shape is 0
//	Idle + (Max − Idle)·(2u − u^Shape)    otherwise
//
// The curve is that of Fan, Weber and Barroso, "Power provisioning for a warehouse-sized
// computer" (2007), who found a Shape of 1.4. The zero value takes nothing: power is
// not modelled.
type Power struct{ Idle, Max, Shape float64 }

// Modelled reports whether the power is modelled.
func (p Power) Modelled() bool { return p.Max > 0 }

// At is the power at a share of the cores in [0, 1].
func (p Power) At(u float64) float64 { return p.Idle + (p.Max-p.Idle)*p.rise(u) }

// rise is the part of the way from Idle to Max.
func (p Power) rise(u float64) float64 {
	if p.Shape == 0 {
		return u
	}
	return 2*u - math.Pow(u, p.Shape)
}

// maxPower bounds a power in watts, as package energy has it.
const maxPower = 1e6

func (p Power) validate() error {
	switch {
	case !finite(p.Max) || p.Max > maxPower:
		return refuse("Power.Max", p.Max, "0 to 1e6 watts")
	case !finite(p.Idle) || p.Idle > p.Max:
		return refuse("Power.Idle", p.Idle, "0 watts to Max")
	case p.Shape != 0 && !(p.Shape >= 1 && p.Shape <= 2):
		return refuse("Power.Shape", p.Shape, "0 (linear) or 1 to 2, beyond which the curve falls")
	}
	return nil
}

// meter adds up what the node takes while nothing changes, at m.watts.
func (m *Model) meter(step float64) {
	t := &m.totals
	t.Joules += m.watts * step
	t.IdleJoules += m.params.Power.Idle * step
	if len(m.containers) == 0 {
		t.EmptyJoules += m.watts * step
	}
}

// energyStep is the resolution of a processor's energy counter in joules, 2⁻¹⁴, that of
// Intel's RAPL.
const energyStep = 1. / (1 << 14)

// EnergyRange is the most that a node's energy counter counts to in µJ, before it goes on
// at 0: that of Intel's RAPL.
const EnergyRange = 262143328850

// EnergyReading is what one look at the node's energy counter and at its CPU time
// shows.
type EnergyReading struct {
	// Microjoules is the counter, which goes on at 0 above EnergyRange.
	Microjoules uint64
	// Busy is the CPU time since the model's start, steal included, in core-seconds.
	Busy float64
}

// ReadEnergy returns what the node's counters show. The energy of each span between two
// calls is off by the measurement noise, as a share of it; counters are rounded as the
// processor and the kernel round them.
func (m *Model) ReadEnergy() EnergyReading {
	taken := m.totals.Joules - m.energy.joules
	m.energy.joules = m.totals.Joules
	m.energy.shown += max(taken*(1+m.params.Noise*m.sensor.NormFloat64()), 0)
	counted := math.Floor(m.energy.shown/energyStep) * energyStep
	return EnergyReading{
		Microjoules: uint64(math.Mod(counted*1e6, EnergyRange+1)),
		Busy:        math.Floor((m.totals.Busy+m.totals.Stolen)/jiffy) * jiffy,
	}
}

// energyCounter is the energy up to the last reading, and what the counter had made of it.
type energyCounter struct{ joules, shown float64 }
