package sim

// sampleClock spreads the samples of all nodes evenly over a tenth of a second.
type sampleClock struct {
	nodes, node int
	round       int
	at          float64
}

// samplePeriod is that of a real agent in seconds.
const samplePeriod = .1

func newSampleClock(nodes int) sampleClock {
	c := sampleClock{nodes: nodes, node: -1}
	c.advance()
	return c
}

func (c *sampleClock) advance() {
	if c.node++; c.node == c.nodes {
		c.node = 0
		c.round++
	}
	c.at = samplePeriod * (float64(c.round) + (float64(c.node)+1)/float64(c.nodes))
}
