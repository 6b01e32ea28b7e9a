package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// unlimited is a rate of pod starts that limits nothing.
const unlimited = 1e9

// row is a metric of one batch on both sides.
type row struct {
	Scheduler string  `json:"scheduler"`
	Seed      uint64  `json:"seed"`
	Metric    string  `json:"metric"`
	Unit      string  `json:"unit"`
	Cluster   float64 `json:"cluster"`
	Simulator float64 `json:"simulator"`
}

// compare runs in the simulator what ran on the cluster and measures both with
// the same functions.
func compare(ctx context.Context, batch demo.Config, c sim.Config, o outcome) ([]row, error) {
	c.Nodes, c.Node, c.Seed = batch.Nodes, node.Params{Cores: batch.Cores}, batch.Seed
	c.Scheduler = sim.Spazio{}
	if o.Profile == demo.Default {
		c.Scheduler = sim.Default{}
	}
	observed, err := observe(batch, o.Outcome)
	if err != nil {
		return nil, err
	}
	simulated, err := sim.Run(ctx, c, observed.Pods)
	if err != nil {
		return nil, err
	}
	reference := map[string]float64{}
	for _, m := range append(metrics(observed), o.Effort.metrics(len(observed.Pods))...) {
		reference[m.Name] = m.Value
	}
	var rows []row
	for _, m := range append(metrics(simulated), assumed(c, simulated).metrics(len(simulated.Pods))...) {
		if cluster, ok := reference[m.Name]; ok {
			rows = append(rows, row{o.Profile, batch.Seed, m.Name, m.Unit, cluster, m.Value})
		}
	}
	return rows, nil
}

// observe puts what became of a batch on the cluster in the simulator's terms.
func observe(batch demo.Config, o demo.Outcome) (sim.Result, error) {
	r := sim.Result{Nodes: batch.Nodes, Cores: float64(batch.Nodes * batch.Cores)}
	var start time.Time
	for _, p := range o.Records {
		switch {
		case p.Failed || p.Done.IsZero():
			return sim.Result{}, fmt.Errorf("pod %s did not do its work", p.Name)
		case p.Bound.IsZero() || p.Running.IsZero():
			return sim.Result{}, fmt.Errorf("pod %s: the API server did not take what became of it; is the machine busy?", p.Name)
		}
		if start.IsZero() || p.Created.Before(start) {
			start = p.Created
		}
	}
	nodes := map[string]int{}
	for _, p := range o.Records {
		if _, ok := nodes[p.Node]; !ok {
			nodes[p.Node] = len(nodes)
		}
		since := func(t time.Time) float64 { return t.Sub(start).Seconds() }
		r.Pods = append(r.Pods, sim.Pod{
			Created: since(p.Created), Work: p.Work.Seconds(), Startup: p.Startup.Seconds(), Memory: p.Memory,
		})
		r.Records = append(r.Records, sim.Record{
			Node: nodes[p.Node], Bound: since(p.Bound), Running: since(p.Running), Done: since(p.Done),
		})
		r.End = math.Max(r.End, since(p.Done))
		r.Done += p.Work.Seconds()
	}
	return r, nil
}
