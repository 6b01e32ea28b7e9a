// Simscheduler compares its own scheduler, join the shortest queue, with the built-in ones in the simulator.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// shortestQueue places each pod on the node with the fewest pods a core.
type shortestQueue struct{}

func (shortestQueue) Start(c *sim.Cluster) (sim.Policy, error) { return policy{c}, nil }

type policy struct{ *sim.Cluster }

func (policy) Admits(node, pod int) bool { return true }

func (p policy) Score(scores []float64, nodes []int, _ int) {
	for i, n := range nodes {
		scores[i] = -float64(len(p.PodsTo(nil, n))) / p.Capacity(n).CPU
	}
}

func run(ctx context.Context, out io.Writer, page string) error {
	cases, _, err := experiment.Selection{Names: []string{"batch"}, Sweep: experiment.Sweep{Work: []float64{10}, Fleet: []string{"5x4"}}}.Cases()
	if err != nil {
		return err
	}
	o := experiment.Options{Seeds: []uint64{1, 2}, Own: map[string]sim.Scheduler{"shortest-queue": shortestQueue{}}}
	rows, err := experiment.Run(ctx, cases, o)
	if err != nil {
		return err
	}
	to, err := report.NewPage(page, "My scheduler")
	if err != nil {
		return err
	}
	c := comparison.Comparison{Cases: cases, Rows: rows, Runs: comparison.Runs{Seeds: o.Seeds}}
	c.Report(to, "simscheduler")
	for _, t := range c.Tables(text.Terminal) {
		err = errors.Join(err, t.WriteText(out, text.Terminal))
	}
	return errors.Join(err, to.Save(page))
}

func main() {
	if err := run(context.Background(), os.Stdout, "simscheduler.html"); err != nil {
		fmt.Fprintln(os.Stderr, "simscheduler:", err)
		os.Exit(1)
	}
}
