package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
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
func compare(ctx context.Context, b batch, c sim.Config, o outcome) ([]row, error) {
	c.Nodes, c.Node, c.Seed = b.Nodes, node.Params{Cores: b.Cores}, b.Seed
	c.Scheduler = sim.Spazio{}
	if o.Profile == defaultScheduler {
		c.Scheduler = sim.Default{}
	}
	observed, err := observe(b, o)
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
			rows = append(rows, row{o.Profile, b.Seed, m.Name, m.Unit, cluster, m.Value})
		}
	}
	return rows, nil
}

// observe puts what became of a batch on the cluster in the simulator's terms.
func observe(b batch, o outcome) (sim.Result, error) {
	r := sim.Result{Nodes: b.Nodes, Cores: float64(b.Nodes * b.Cores)}
	nodes := map[string]int{}
	for _, p := range o.Pods {
		switch {
		case p.Failed || p.Done == nil:
			return sim.Result{}, fmt.Errorf("pod %s did not do its work", p.Name)
		case p.Created == nil || p.Bound == nil || p.Running == nil:
			return sim.Result{}, fmt.Errorf("pod %s: the API server did not take what became of it; is the machine busy?", p.Name)
		}
		if _, ok := nodes[p.Node]; !ok {
			nodes[p.Node] = len(nodes)
		}
		r.Pods = append(r.Pods, sim.Pod{
			Created: *p.Created, Work: p.Work, Startup: p.Startup, Memory: p.Memory, Request: baseline.Resources{CPU: b.Request},
		})
		r.Records = append(r.Records, sim.Record{Node: nodes[p.Node], Bound: *p.Bound, Running: *p.Running, Done: *p.Done})
		r.End = math.Max(r.End, *p.Done)
		r.Done += p.Work
	}
	return r, nil
}
