package agent_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

// TestGolden records every number of the reports of a node whose pods start randomly, through init
// containers, stop and end, while the machine and the fleet change. A change that should not affect
// decisions must leave the trace as it is.
func TestGolden(t *testing.T) {
	n := newNode(t, config())
	var trace strings.Builder
	n.visit = func(r agent.Report) { fmt.Fprintln(&trace, exact(r)) }
	rng := rand.New(rand.NewPCG(14, 3))
	var pods []agent.Pod
	next := reserve.PodKey(1)
	for tick := range 900 {
		switch rng.IntN(30) {
		case 0, 1:
			n.p.Churn(n.at)
			n.p.Bound(n.at, agent.Bind{Pod: next, Inits: rng.IntN(2), InitsKnown: rng.IntN(3) > 0})
			pods = append(pods, agent.Pod{Key: next})
			next++
		case 2, 3, 4:
			for i := range pods {
				pods[i].Starts += rng.IntN(2)
				pods[i].State = []agent.PodState{agent.PodRunning, agent.PodRunning, agent.PodStopped}[rng.IntN(3)]
			}
		case 5:
			if len(pods) > 0 {
				pods = pods[1:]
			}
		}
		n.keep(n.p.Pods(n.at, pods))
		switch tick {
		case 400:
			f := fleet(t, [][]float64{{.5, .1}}, agent.Cost{Value: .6, SD: .05, Known: true}, agent.Cost{})
			if err := n.p.SetFleet(n.at, f); err != nil {
				t.Fatal(err)
			}
		case 700:
			if err := n.p.Resize([]float64{8, 16e9}); err != nil {
				t.Fatal(err)
			}
		}
		load := .02 + .11*float64(len(pods)) + .02*rng.NormFloat64()
		n.samples(1, min(max(load, 0), 1), min(.05+.02*float64(len(pods)), 1))
	}
	golden(t, "reports.golden", trace.String())
}

// exact formats a report completely, to ten digits: the last bits depend on the architecture.
func exact(r agent.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v #%d avail %.10g allowance %.10g k %.10g %s saturated %v %+v %v",
		r.SampledAt.Sub(start).Round(time.Millisecond), r.Sequence, r.Avail, r.Allowance, r.K, r.Limiting, r.Saturated, r.Flags, r.Pods)
	for _, c := range r.Channels {
		fmt.Fprintf(&b, " | %s %.10g %.10g %.10g %.10g", c.Name, c.Usage, c.Capacity, c.Cost, c.CostSD)
	}
	return b.String()
}
