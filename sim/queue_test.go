package sim_test

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// gate is a scheduler that admits one pod at a time to its node, from a time on, and retries all
// pods at other times.
type gate struct {
	opens float64
	wakes []float64
}

type gatePolicy struct {
	*sim.Cluster
	gate
	held bool
}

const warmup = 5 // seconds, by default

func (g gate) Start(c *sim.Cluster) (sim.Policy, error) {
	for _, at := range g.wakes {
		c.Every(1e9, warmup+at, c.Wake)
	}
	return &gatePolicy{c, g, false}, nil
}

func (p *gatePolicy) Admits(int, int) bool        { return p.Now() >= p.opens && !p.held }
func (p *gatePolicy) Score([]float64, []int, int) {}
func (p *gatePolicy) Bound(int, int)              { p.held = true }
func (p *gatePolicy) Ended(int, int)              { p.held = false }

// Pods whose back-off is over go first, and of the others the one whose back-off ends first,
// however long they have waited.
func TestOrderOfRefusedPods(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second float64 // when the pods are created
		g             gate
	}{
		// The second is refused at 9.8 s, and would wait until 10.8.
		{"one is over", 0, 9.8, gate{10, []float64{10}}},
		// The second is refused for the third time at 5 s, and waits for 4; the first at
		// 6.2, and waits for 1.
		{"both are not", 6.2, 0, gate{6.5, []float64{2, 5, 6.5}}},
	} {
		pods := []sim.Pod{{Created: test.first, Work: 1}, {Created: test.second, Work: 1}}
		r := run(t, sim.Config{Nodes: 1, Scheduler: test.g, Seed: 1}, pods).Records
		if r[0].Bound < test.g.opens || r[0].Bound >= r[1].Bound {
			t.Errorf("%s: bound at %g and %g s", test.name, r[0].Bound, r[1].Bound)
		}
	}
}

// A pod that no event wakes is retried after it has waited for five minutes, at the next of the
// flushes, one each half a minute.
func TestFlush(t *testing.T) {
	r := run(t, sim.Config{Nodes: 1, Scheduler: gate{opens: 10}, Seed: 1}, []sim.Pod{{Work: 1}})
	if got := r.Records[0].Bound; math.Abs(got-(330-warmup)) > .1 {
		t.Errorf("bound at %g s, want %d", got, 330-warmup)
	}
}

// reading records a node's values each second.
type reading struct{ seen *[]float64 }

type readingPolicy struct{ *sim.Cluster }

func (o reading) Start(c *sim.Cluster) (sim.Policy, error) {
	c.Every(1, warmup+2.5, func() {
		if r, ok := c.Read(0); ok {
			*o.seen = append(*o.seen, r.Utilisation)
		}
	})
	return readingPolicy{c}, nil
}

func (readingPolicy) Admits(int, int) bool        { return true }
func (readingPolicy) Score([]float64, []int, int) {}

// A reading is current, although nothing has happened on the node since the last.
func TestReadIsOfNow(t *testing.T) {
	var seen []float64
	c := sim.Config{Nodes: 1, Node: node.Params{Cores: 2}, Scheduler: reading{&seen}, Seed: 1}
	run(t, c, []sim.Pod{{Work: 10, Cores: 1}, {Work: 10, Cores: 1}})
	if len(seen) < 7 {
		t.Fatalf("%d readings in 10 s", len(seen))
	}
	for i, u := range seen[:7] {
		if u < .9 && i > 0 { // the first is of the time before, too
			t.Errorf("reading %d of a node of two busy cores: %g", i, u)
		}
	}
}
