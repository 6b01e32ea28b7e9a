package aggregate

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// perNode keeps Σ wᵢ2^((tᵢ−epoch)/H)·Gᵢ and the sum of the factors: all nodes
// fade at one rate, so ages need no update while time passes and the common
// factor 2^((epoch−t)/H) cancels in the mean. A push costs O(d²).
//
// Rounding errors are relative to the largest totals since the last full sum,
// so it sums again where those are no longer what the totals are.
type perNode struct {
	options Options
	epoch   time.Time
	total   []float64
	weight  float64
	mean    []float64
	// updates counts additions and subtractions since the last full sum;
	// mostWeight and mostTrace are the largest totals since.
	updates               int
	mostWeight, mostTrace float64
	clip                  clip
}

const (
	// maxUpdates bounds the drift: each of an update's two roundings is at
	// most 2^-53 of the largest total, itself at most twice the present one,
	// so 1,024 updates leave less than 5e-13 of it.
	maxUpdates = 1024
	// maxShift is how many half-lives the epoch may lag behind before factors
	// grow so large that they overflow.
	maxShift = 512
)

func (p *perNode) factor(n *node) float64 {
	return n.weight * math.Exp2(p.options.halfLives(p.epoch, n.at))
}

func (p *perNode) enter(n *node) {
	if p.updates == 0 && p.weight == 0 {
		p.epoch = n.at
	}
	p.accumulate(n, 1)
	if p.options.halfLives(p.epoch, n.at) > maxShift {
		p.updates = maxUpdates // the total may be infinite: sum again
	}
}

func (p *perNode) leave(n *node) { p.accumulate(n, -1) }

func (p *perNode) accumulate(n *node, sign float64) {
	f := sign * p.factor(n)
	axpy(p.total, f, n.moments)
	p.weight += f
	p.updates++
	p.mostWeight = max(p.mostWeight, p.weight)
	p.mostTrace = max(p.mostTrace, trace(p.total))
}

// drifted says that the totals may have lost digits.
func (p *perNode) drifted() bool {
	return p.updates >= maxUpdates || p.weight < p.mostWeight/2 || trace(p.total) < p.mostTrace/2
}

func (p *perNode) merged(at time.Time, nodes []*node) common {
	if p.drifted() {
		p.sum(nodes)
	}
	if !(p.weight > 0) {
		return common{}
	}
	c := common{samples: p.weight, kept: 1}
	total := p.total
	if p.options.Clip > 0 {
		c = p.clip.apply(p, nodes)
		total = p.clip.total
	}
	p.mean = append(p.mean[:0], total...)
	for i := range p.mean {
		p.mean[i] /= c.samples
	}
	if p.options.Clip > 0 {
		c.reach += p.clip.distance(p.mean)
	} else {
		// |A−B|² ≤ |A|²+|B|² of semidefinite A and B, and |Gᵢ| ≤ tr Gᵢ ≤ d.
		c.reach = math.Hypot(float64(dimension(len(p.mean))), frobenius(p.mean))
	}
	c.moments = p.mean
	c.samples *= min(1, math.Exp2(-p.options.halfLives(p.epoch, at)))
	return c
}

// sum starts over from the nodes, in order of their names so that the result
// is the same to the last bit whatever the order of arrival was.
func (p *perNode) sum(nodes []*node) {
	sortByName(nodes)
	clear(p.total)
	p.weight, p.mostWeight, p.mostTrace = 0, 0, 0
	for i, n := range nodes {
		if i == 0 || n.at.After(p.epoch) {
			p.epoch = n.at
		}
	}
	for _, n := range nodes {
		p.accumulate(n, 1)
	}
	p.updates = 0
}

func sortByName(nodes []*node) {
	slices.SortFunc(nodes, func(x, y *node) int { return cmp.Compare(x.name, y.name) })
	for i, n := range nodes {
		n.slot = i
	}
}
