package aggregate

import (
	"math"
	"time"
)

// perNodeCentred is perNode for centred models, whose mean squares are about means
// that differ:
//
//	μ = Σ pᵢμᵢ    G = Σ pᵢ(Gᵢ + (μᵢ − μ)(μᵢ − μ)ᵀ)    pᵢ = wᵢaᵢ/Σ wa
//
// It sums anew each time. The difference of sums that are kept, of squares about 0
// and of the square of the mean, would leave nothing of the digits of a load that
// hardly varies.
type perNodeCentred struct {
	perNode
	dim int
}

func (p *perNodeCentred) enter(*node) {}

func (p *perNodeCentred) leave(*node) {}

func (p *perNodeCentred) merged(at time.Time, nodes []*node) common {
	p.sum(nodes)
	if !(p.weight > 0) {
		return common{}
	}
	// What pulls the mean pulls the mean squares about it: no bound is known.
	c := common{samples: p.weight, kept: 1, reach: math.Inf(1)}
	total, limit := p.total, math.Inf(1)
	if p.options.Clip > 0 {
		clipped := p.clip.apply(&p.perNode, nodes)
		c.samples, c.kept, c.clipped = clipped.samples, clipped.kept, clipped.clipped
		total, limit = p.clip.total, clipped.reach
	}
	p.mean = append(p.mean[:0], total...)
	for i := range p.mean {
		p.mean[i] /= c.samples
	}
	for i, n := range nodes {
		f := p.factor(n) / c.samples
		if limit < math.Inf(1) {
			if d := p.clip.distances[i]; d > limit {
				f *= limit / d
			}
		}
		spreadTo(p.mean, f, n.moments, p.dim)
	}
	c.moments = p.mean
	c.samples *= min(1, math.Exp2(-p.options.halfLives(p.epoch, at)))
	return c
}

// spreadTo adds f·(μᵢ − μ)(μᵢ − μ)ᵀ to the mean squares in dst, which μ follows.
func spreadTo(dst []float64, f float64, node []float64, dim int) {
	split := packedLen(dim)
	mean, own := dst[split:], node[split:]
	at := 0
	for i := range dim {
		for j := range i + 1 {
			dst[at] += f * (own[i] - mean[i]) * (own[j] - mean[j])
			at++
		}
	}
}
