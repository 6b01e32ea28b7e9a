package node

import "math"

// waiting is the mean of the last readings of the threads that wait, a core: as
// many as package telemetry takes.
type waiting struct {
	readings [5]float64
	count    int
}

// mean takes a reading and returns the mean of the last, in [0,1].
func (w *waiting) mean(reading float64) float64 {
	w.readings[w.count%len(w.readings)] = reading
	w.count++
	n := min(w.count, len(w.readings))
	sum := 0.
	for _, r := range w.readings[:n] {
		sum += r
	}
	return min(max(sum/float64(n), 0), 1)
}

// runnable draws how many threads run or wait at this moment. One that wants a part
// of a core is there for that part of the time.
func (m *Model) runnable() float64 {
	speed := m.speed()
	sum := 0.
	for _, c := range m.classes {
		n := float64(len(c.threads))
		whole, part := math.Modf(c.asked(speed) / n)
		sum += n*whole + m.present(n, part)
	}
	return sum
}

// present draws how many of n threads are there when each is with the given
// probability. Of many it takes the normal distribution.
func (m *Model) present(n, probability float64) float64 {
	if probability == 0 {
		return 0
	}
	if n > 16 {
		mean := n * probability
		drawn := mean + math.Sqrt(mean*(1-probability))*m.moment.NormFloat64()
		return min(max(math.Round(drawn), 0), n)
	}
	there := 0.
	for range int(n) {
		if m.moment.Float64() < probability {
			there++
		}
	}
	return there
}

// crowding is how long the threads that wait stay where they are. On a node of two
// cores with pods in a kubelet's groups their places changed every few seconds.
const crowding = 2.

// stalled is the sum over a step of the share of the cores on which a thread waits.
// As many as there are cores, evenly spread, wait on each.
func (m *Model) stalled(step float64) float64 {
	waiting := m.wanted - m.cores
	if m.params.Balanced {
		return step * min(waiting/m.cores, 1)
	}
	sum := 0.
	for now, end := m.now, m.now+step; now < end; {
		slot := math.Floor(now/crowding + 1e-9)
		next := min((slot+1)*crowding, end)
		sum += (next - now) * m.crowded(waiting, uint64(slot))
		now = next
	}
	return sum
}

// crowded is the share of the cores on which a thread waits during a time slot: at
// least on one, at most each on one of its own, and any number between alike.
func (m *Model) crowded(waiting float64, slot uint64) float64 {
	most := min(math.Ceil(waiting-1e-9), m.cores)
	return min((1+math.Floor(uniform(m.params.Seed, slot)*most))/m.cores, 1) * min(waiting, 1)
}

// uniform is a number in [0,1) that looks random: the same for the same arguments,
// however often it is asked for (SplitMix64).
func uniform(seed, n uint64) float64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}
