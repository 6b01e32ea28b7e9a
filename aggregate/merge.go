package aggregate

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// merger combines the moments of one group's nodes, of centred ones about means that
// differ:
//
//	μ = Σ pᵢμᵢ    G = Σ pᵢ(Gᵢ + (μᵢ − μ)(μᵢ − μ)ᵀ)    pᵢ = wᵢaᵢ/Σ wa
//
// It sums anew each time: the difference of sums that are kept would lose the digits of
// a load that hardly varies. Ages count from the newest push, as the common factor
// cancels in the mean.
type merger struct {
	options Options
	key     groupKey
	epoch   time.Time // of the newest push
	weight  float64
	total   []float64
	mean    []float64
}

func (m *merger) factor(n *node) float64 {
	return n.weight * math.Exp2(m.options.halfLives(m.epoch, n.at))
}

// merged returns what the nodes of the group have in common at a time.
func (m *merger) merged(at time.Time, nodes []*node) common {
	m.sum(nodes)
	if !(m.weight > 0) {
		return common{}
	}
	c := common{samples: m.weight}
	m.mean = append(m.mean[:0], m.total...)
	for i := range m.mean {
		m.mean[i] /= c.samples
	}
	if m.key.centred {
		m.addSpread(nodes, c.samples)
	}
	c.moments = m.mean
	c.samples *= min(1, math.Exp2(-m.options.halfLives(m.epoch, at)))
	return c
}

// sum adds up the nodes in order of their names, so that the result is the same to the
// last bit whatever the order of arrival was.
func (m *merger) sum(nodes []*node) {
	sortByName(nodes)
	if m.total == nil {
		m.total = make([]float64, m.key.vector())
	}
	clear(m.total)
	m.weight = 0
	for i, n := range nodes {
		if i == 0 || n.at.After(m.epoch) {
			m.epoch = n.at
		}
	}
	for _, n := range nodes {
		f := m.factor(n)
		axpy(m.total, f, n.moments)
		m.weight += f
	}
}

// addSpread adds pᵢ(μᵢ − μ)(μᵢ − μ)ᵀ of each node to the mean squares, which μ follows.
func (m *merger) addSpread(nodes []*node, samples float64) {
	split := packedLen(m.key.dim)
	mean := m.mean[split:]
	for _, n := range nodes {
		f := m.factor(n) / samples
		own, at := n.moments[split:], 0
		for i := range m.key.dim {
			for j := range i + 1 {
				m.mean[at] += f * (own[i] - mean[i]) * (own[j] - mean[j])
				at++
			}
		}
	}
}

func sortByName(nodes []*node) {
	slices.SortFunc(nodes, func(x, y *node) int { return cmp.Compare(x.name, y.name) })
	for i, n := range nodes {
		n.slot = i
	}
}
