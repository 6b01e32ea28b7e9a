// Simscheduler compares a scheduler of its own with kube-scheduler's default in the
// simulator. Its scheduler measures each node once a second and refuses those that
// are busy: a few lines that a paper's algorithm would stand in for.
//
//	go run ./examples/simscheduler
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Threshold refuses nodes that used more than a share of their cores in the last
// second, or took a pod in it, and spreads pods over the others by use.
type Threshold struct{ Share float64 }

// Start implements sim.Scheduler.
func (t Threshold) Start(c *sim.Cluster) (sim.Policy, error) {
	p := &policy{Cluster: c, share: t.Share, nodes: make([]state, c.Nodes())}
	c.Every(1, 1, p.measure)
	return p, nil
}

type policy struct {
	*sim.Cluster
	share float64
	nodes []state
}

// state is what is known of a node.
type state struct {
	use    float64 // share of the cores in the last second
	before float64 // core-seconds when it was measured
	taken  int     // pods since then
}

func (p *policy) measure() {
	for i := range p.nodes {
		used := p.Usage(i).CoreSeconds
		p.nodes[i] = state{use: (used - p.nodes[i].before) / p.Capacity(i).CPU, before: used}
	}
	p.Wake()
}

// Admits implements sim.Policy.
func (p *policy) Admits(node, _ int) bool {
	return p.nodes[node].use < p.share && p.nodes[node].taken == 0
}

// Score implements sim.Policy.
func (p *policy) Score(scores []float64, nodes []int, _ int) {
	for i, n := range nodes {
		scores[i] = -p.nodes[n].use
	}
}

// Bound implements the simulator's callback.
func (p *policy) Bound(node, _ int) { p.nodes[node].taken++ }

func run(ctx context.Context, out io.Writer) error {
	pods, err := workload.Batch(1, 200, 10, workload.Exponential)
	if err != nil {
		return err
	}
	for _, s := range []struct {
		name      string
		scheduler sim.Scheduler
	}{{"default", sim.Default{}}, {"threshold", Threshold{.9}}, {"spazio", sim.Spazio{}}} {
		r, err := sim.Run(ctx, sim.Config{Nodes: 5, Scheduler: s.scheduler, Seed: 1}, pods)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-10s", s.name)
		for _, m := range sim.Summarise(r) {
			switch m.Name {
			case "makespan", "run_mean", "sojourn_mean":
				fmt.Fprintf(out, "  %s %.1f s", m.Name, m.Value)
			}
		}
		fmt.Fprintln(out)
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
