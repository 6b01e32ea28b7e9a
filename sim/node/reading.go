package node

import "math"

// jiffy is the resolution of /proc/stat in seconds.
const jiffy = .01

// counters are the cumulative readings a kernel would show.
type counters struct {
	at            float64 // seconds
	idle, stalled float64 // whole jiffies in seconds; whole microseconds in seconds
}

// Reading is what one look at the node's counters shows.
type Reading struct {
	// Utilisation is the busy share of the cores, steal included, Pressure the share
	// of the cores on which a runnable thread waited, over time, both since the
	// reading before.
	Utilisation, Pressure float64
	// Waiting is the number of threads that waited for a core, a core, at most 1: the
	// mean of the last readings, each of one moment.
	Waiting float64
	// Memory is the share of the memory in use now.
	Memory float64
}

// Read returns the reading of the span since the last call, or false if no time
// has passed since. Values are rounded as the kernel rounds them, disturbed by
// the measurement noise and lie in [0,1].
func (m *Model) Read() (Reading, bool) {
	before, now := m.read, m.counters()
	span := now.at - before.at
	if span <= 0 {
		return Reading{}, false
	}
	m.read = now
	r := Reading{
		Utilisation: m.disturb(1-(now.idle-before.idle)/(span*m.cores), 1),
		Pressure:    m.disturb((now.stalled-before.stalled)/span, 1),
		// A level read from counters of pages is steadier than a rate.
		Memory: m.disturb(m.used/m.params.Memory, .1),
	}
	r.Waiting = m.waiting.mean(m.runnable()/m.cores - r.Utilisation)
	return r, true
}

// CPU joins utilisation and waiting threads half and half, as package telemetry
// does: utilisation alone is full at n = c, waiting does not move below it.
func (r Reading) CPU() float64 { return (r.Utilisation + r.Waiting) / 2 }

// PressuredCPU is CPU with pressure in the place of waiting threads, as the thesis (see
// package sim) has it.
func (r Reading) PressuredCPU() float64 { return (r.Utilisation + r.Pressure) / 2 }

func (m *Model) counters() counters {
	idle := m.now*m.cores - m.totals.Busy - m.totals.Stolen
	return counters{
		at:      m.now,
		idle:    math.Floor(idle/jiffy) * jiffy,
		stalled: math.Floor(m.totals.Stalled*1e6) / 1e6,
	}
}

func (m *Model) disturb(v, scale float64) float64 {
	return min(1, max(0, v+scale*m.params.Noise*m.noise.NormFloat64()))
}
