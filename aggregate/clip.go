package aggregate

import "math"

// clip is the part of merger that bounds what a node far from the others can
// do; the package documentation derives it. Its fields are scratch.
type clip struct {
	total      []float64 // Σ fᵢsᵢGᵢ
	centre     []float64 // Ĝ
	sample     []weighted
	weights    []uint64
	distances  []float64
	difference []float64
}

// most is the share of the weight that is within R: R is that of honest nodes as long as
// fewer than a tenth of the nodes are hostile, and an honest minority of more than a
// tenth is not clipped.
const most = .9

// apply leaves the clipped sum in total and returns its weight, how many nodes
// were clipped, and c·R as their reach.
func (c *clip) apply(m *merger, nodes []*node) common {
	c.weigh(m, nodes)
	c.centreOn(len(m.total), nodes)
	limit := m.options.Clip * c.spread(nodes)
	result := common{samples: m.weight, kept: 1, reach: limit}
	for _, d := range c.distances {
		if d > limit {
			result.clipped++
		}
	}
	if c.total = append(c.total[:0], m.total...); result.clipped > 0 {
		// Taking away would leave the rounding errors of what may be much
		// larger than what remains: sum again.
		result.samples, result.kept = c.sum(m, nodes, limit)
	}
	return result
}

// weigh makes integers of the nodes' weights.
func (c *clip) weigh(m *merger, nodes []*node) {
	c.distances = c.distances[:0]
	heaviest := 0.
	for _, n := range nodes {
		f := m.factor(n)
		c.distances = append(c.distances, f)
		heaviest = max(heaviest, f)
	}
	c.weights = c.weights[:0]
	for _, f := range c.distances {
		c.weights = append(c.weights, uint64(math.Round(f*integers(heaviest))))
	}
}

// centreOn makes the weighted median of each element the centre.
func (c *clip) centreOn(length int, nodes []*node) {
	c.centre = c.centre[:0]
	for e := range length {
		c.sample = c.sample[:0]
		for i, n := range nodes {
			if c.weights[i] > 0 {
				c.sample = append(c.sample, weighted{n.moments[e], c.weights[i]})
			}
		}
		c.centre = append(c.centre, median(c.sample))
	}
}

// spread notes each node's distance from the centre and returns R.
func (c *clip) spread(nodes []*node) float64 {
	c.distances, c.sample = c.distances[:0], c.sample[:0]
	for i, n := range nodes {
		d := c.distance(n.moments)
		c.distances = append(c.distances, d)
		if c.weights[i] > 0 {
			c.sample = append(c.sample, weighted{d, c.weights[i]})
		}
	}
	target := uint64(math.Ceil(most * float64(totalWeight(c.sample))))
	r, _, _ := quantile(c.sample, target)
	return r
}

// distance is the Frobenius norm of a packed matrix minus the centre.
func (c *clip) distance(packed []float64) float64 {
	c.difference = append(c.difference[:0], packed...)
	axpy(c.difference, -1, c.centre)
	return frobenius(c.difference)
}

func (c *clip) sum(m *merger, nodes []*node, limit float64) (weight, kept float64) {
	clear(c.total)
	var all float64
	for i, n := range nodes {
		f := m.factor(n)
		all += f
		if d := c.distances[i]; d > limit {
			f *= limit / d
		}
		axpy(c.total, f, n.moments)
		weight += f
	}
	return weight, weight / all
}

// Sway bounds the angle, in radians, by which nodes with the given share of the
// weight, in [0,1), can have turned the global direction u₁ from where the
// others' models alone put it; see the package documentation. It is π/2 where
// nothing can be promised.
func (g Global) Sway(share float64) float64 {
	if !(share >= 0 && share < g.Kept) || g.Model.Dim() < 2 {
		if g.Model.Dim() == 1 {
			return 0
		}
		return math.Pi / 2
	}
	moved := share * g.Reach / (g.Kept - share)
	gap := (g.Model.Energy(0) - g.Model.Energy(1)) / float64(g.Model.Block())
	if !(2*moved < gap) {
		return math.Pi / 2
	}
	return math.Asin(moved / (gap - moved))
}
