package agent_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/agent"
)

// TestFiguresStayWithinTheNode runs idle pods beside pods that come and go, a mix for which the fitted
// line at zero pods exceeds an idle node.
func TestFiguresStayWithinTheNode(t *testing.T) {
	for _, cores := range []float64{4, 16, 64} {
		for _, reserve := range []float64{0, .2} {
			t.Run(fmt.Sprintf("cores=%g/reserve=%g", cores, reserve), func(t *testing.T) {
				c := config()
				c.Cores, c.Channels[0].Size, c.Channels[0].Reserve = cores, cores, reserve
				n := newNode(t, c)
				beyond := 0
				n.visit = func(r agent.Report) {
					w, _ := n.p.Why()
					for i, ch := range r.Channels {
						if w.Channels[i].Pooled.Capacity > 1 {
							beyond++
						}
						if ch.Capacity > 1 || ch.Most > 1-w.Channels[i].Reserve || ch.Room > ch.Most {
							t.Fatalf("%s: got C = %g, at most %g for pods and %g left", ch.Name, ch.Capacity, ch.Most, ch.Room)
						}
					}
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for range 200 {
					pods := rng.IntN(5)
					n.pods(6 + pods) // six of them are idle
					n.samples(10, .02+.08*float64(pods), .1+.05*float64(pods))
				}
				if beyond == 0 {
					t.Error("the estimate never exceeded an idle node")
				}
			})
		}
	}
}

// TestAssumedCosts distinguishes a cost that was not measured from one that was.
func TestAssumedCosts(t *testing.T) {
	n := newNode(t, config())
	n.samples(10, .05, .1)
	for _, c := range n.last().Channels {
		if !c.Assumed() {
			t.Errorf("%s: got %g ± %g before any pod", c.Name, c.Cost, c.CostSD)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	n.run(rng, 200, .05, .15) // of the CPU alone
	cpu, memory := n.last().Channels[0], n.last().Channels[1]
	if cpu.Assumed() || !near(cpu.Cost, .15, .03) {
		t.Errorf("got CPU cost %g ± %g, want .15", cpu.Cost, cpu.CostSD)
	}
	if !memory.Assumed() {
		t.Errorf("got memory cost %g ± %g although no pod used memory", memory.Cost, memory.CostSD)
	}
	if err := n.p.SetFleet(n.at, fleet(t, [][]float64{{.1, .1}}, agent.Cost{}, agent.Cost{Value: 64 << 20, SD: 8 << 20, Known: true})); err != nil {
		t.Fatal(err)
	}
	n.samples(10, .05, .1)
	if memory = n.last().Channels[1]; memory.Assumed() {
		t.Errorf("got memory cost %g ± %g although the fleet has measured one", memory.Cost, memory.CostSD)
	}
}
