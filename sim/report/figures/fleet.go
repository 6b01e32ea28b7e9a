package figures

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/report"
)

// epoch is the time 0 of what is simulated.
var epoch = time.Unix(1_000_000_000, 0)

func moment(s float64) time.Time { return epoch.Add(time.Duration(math.Round(s * 1e9))) }

// host is a simulated node with its agent's pipeline.
type host struct {
	model    *node.Model
	pipeline *agent.Pipeline
	// report is the newest one, valid after the first.
	report agent.Report
}

// newHost returns an empty node. configure may change its agent.
func newHost(p node.Params, name string, configure func(*agent.Config)) (*host, error) {
	model, err := node.New(p)
	if err != nil {
		return nil, err
	}
	p = model.Params()
	config := agent.Config{
		Node: name, Schema: "v2;cpu=half-runnable;memory=available", Cores: float64(p.Cores),
		Channels: []agent.Channel{{Name: agent.CPU, Size: float64(p.Cores)}, {Name: "memory", Size: p.Memory}},
	}
	if configure != nil {
		configure(&config)
	}
	pipeline, err := agent.New(config)
	if err != nil {
		return nil, err
	}
	return &host{model: model, pipeline: pipeline}, nil
}

// sample runs the node until a time and gives its agent what happened and one sample.
func (h *host) sample(to float64) error {
	keep := func(r agent.Report, due bool, err error) error {
		if due && err == nil {
			h.report = r
		}
		return err
	}
	for _, t := range h.model.AdvanceTo(nil, to) {
		h.pipeline.Churn(moment(t.At))
		if t.Phase == node.Starting {
			continue
		}
		var pods []reserve.PodKey
		for _, id := range h.model.Running(nil) {
			pods = append(pods, reserve.PodKey(id))
		}
		if err := keep(h.pipeline.Pods(moment(t.At), agent.RunningPods(pods...))); err != nil {
			return err
		}
	}
	r, ok := h.model.Read()
	if !ok {
		return nil
	}
	return keep(h.pipeline.Sample(moment(to), []float64{r.CPU(), r.Memory}))
}

// The cluster of figures 4.7 and 4.8 is the thesis's: 19 nodes, and 1,000 pods
// on all of them but the one that is looked at.
const (
	fleetNodes  = 19
	fleetPods   = 1000
	fleetWork   = 10. // core-seconds of a pod
	fleetArrive = 120.
	fleetEnd    = 420.
)

// fleet is a cluster whose agents share an aggregator.
type fleet struct {
	hosts      []*host
	aggregator *aggregate.Aggregator
}

func newFleet(seed uint64) (*fleet, error) {
	seeds := rand.New(rand.NewPCG(seed, 47))
	f := &fleet{}
	for i := range fleetNodes {
		h, err := newHost(node.Params{Seed: seeds.Uint64()}, fmt.Sprintf("node-%02d", i), nil)
		if err != nil {
			return nil, err
		}
		f.hosts = append(f.hosts, h)
	}
	var err error
	f.aggregator, err = aggregate.New(aggregate.Options{})
	return f, err
}

// exchange has every node push its model and receive the fleet's.
func (f *fleet) exchange(now float64) error {
	for _, h := range f.hosts {
		local, ok := h.pipeline.Local()
		if !ok {
			return nil
		}
		costs := make([]aggregate.Cost, len(local.Costs))
		for i, c := range local.Costs {
			costs[i] = aggregate.Cost(c)
		}
		if _, err := f.aggregator.Put(moment(now), aggregate.Local{
			Node: local.Node, Incarnation: local.Incarnation, Sequence: local.Sequence,
			Schema: local.Schema, Model: local.Model, Costs: costs,
		}); err != nil {
			return err
		}
	}
	globals, err := f.aggregator.Globals(moment(now))
	if err != nil || len(globals) == 0 {
		return err
	}
	g := globals[0]
	published := agent.Fleet{Schema: g.Schema, Model: g.Model, Nodes: g.Nodes}
	for _, c := range g.Costs {
		published.Costs = append(published.Costs, agent.Cost(c))
	}
	for _, h := range f.hosts {
		if err := h.pipeline.SetFleet(moment(now), published); err != nil {
			return err
		}
	}
	return nil
}

// run loads the first node for good, sends the pods to all others at
// fleetArrive and calls look every second.
func (f *fleet) run(ctx context.Context, load []node.Pod, look func(now float64)) error {
	for _, pod := range load {
		if err := f.hosts[0].model.Bind(0, pod); err != nil {
			return err
		}
	}
	startup := rand.New(rand.NewPCG(f.hosts[0].model.Params().Seed, 48))
	sent := false
	for step := 1; ; step++ {
		now := float64(step) * sampling
		if now > fleetEnd {
			return nil
		}
		if now >= fleetArrive && !sent {
			sent = true
			for i := range fleetPods {
				pod := node.Pod{ID: node.PodID(i), Work: fleetWork, Startup: node.StartupLatency(startup)}
				if err := f.hosts[1+i%(fleetNodes-1)].model.Bind(now, pod); err != nil {
					return err
				}
			}
		}
		for _, h := range f.hosts {
			if err := h.sample(now); err != nil {
				return err
			}
		}
		if step%10 != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.exchange(now); err != nil {
			return err
		}
		look(now)
	}
}

// endless is the work of a pod that outlasts the figure.
const endless = 1e9

// cpuLoaded is figure 4.7.
func cpuLoaded(ctx context.Context, seed uint64) (outcome, error) {
	var load []node.Pod
	for i := range 8 {
		load = append(load, node.Pod{ID: node.PodID(i), Work: endless, Cores: .25})
	}
	r, err := signal(ctx, seed, "eight threads, each busy a quarter of the time", load)
	if r.during < r.before {
		r.verdict = holds
	}
	return r.outcome, err
}

// memoryLoaded is figure 4.8.
func memoryLoaded(ctx context.Context, seed uint64) (outcome, error) {
	var load []node.Pod
	for i := range 4 {
		load = append(load, node.Pod{ID: node.PodID(i), Work: endless, Cores: .02, Memory: 2 << 30})
	}
	r, err := signal(ctx, seed, "four threads that hold 2 GiB of 16 each and hardly compute", load)
	r.source += " The thesis took stress-ng's vm workers, which compute all the time as well; these are the memory alone."
	if r.during > r.before {
		r.verdict = holds
	}
	return r.outcome, err
}

// signalled is a figure of k with its level before and while the pods run
// elsewhere.
type signalled struct {
	outcome
	before, during float64
}

func signal(ctx context.Context, seed uint64, what string, load []node.Pod) (signalled, error) {
	f, err := newFleet(seed)
	if err != nil {
		return signalled{}, err
	}
	var at, k, cpu, memory, others []float64
	err = f.run(ctx, load, func(now float64) {
		w, ok := f.hosts[0].pipeline.Why()
		if !ok || w.Flags.WarmingUp {
			return
		}
		at, k = append(at, now), append(k, w.Model.K)
		cpu, memory = append(cpu, w.Channels[0].Demand), append(memory, w.Channels[1].Demand)
		sum := 0.
		for _, h := range f.hosts[1:] {
			sum += h.report.Channels[0].Usage / (fleetNodes - 1)
		}
		others = append(others, sum)
	})
	if err != nil {
		return signalled{}, err
	}
	before := func(values []float64) float64 { return mean(between(at, values, 60, fleetArrive)) }
	during := func(values []float64) float64 { return mean(between(at, values, fleetArrive+30, fleetArrive+120)) }
	mark := []report.Mark{{Name: "1,000 pods elsewhere", X: fleetArrive}}
	r := signalled{before: before(k), during: during(k)}
	r.outcome = outcome{
		panels: []report.Panel{
			{Title: "signal k of the node: " + what, X: seconds, Y: report.Axis{Label: "typical loads"}, Marks: mark,
				Series: []report.Series{{Name: "k", Points: line(at, k)}}},
			{Title: "demand q of one more typical load, by channel", X: seconds, Y: report.Axis{Label: "share"}, Marks: mark,
				Series: []report.Series{{Name: "q, cpu", Points: line(at, cpu)}, {Name: "q, memory", Points: line(at, memory)}}},
			{Title: "cpu channel of the other nodes, mean", X: seconds, Y: share, Marks: mark,
				Series: []report.Series{{Name: "cpu of the others", Points: line(at, others)}}},
		},
		verdict: fails,
		source: simulated(seed, fmt.Sprintf("%d nodes of 4 cores and 16 GiB, %d pods of %g core-seconds on all but one; pipelines and aggregator are the agents' own",
			fleetNodes, fleetPods, fleetWork)),
	}
	r.measured = fmt.Sprintf("k is %.2f before the pods come and %.2f while they run. One more typical load is (%.2f cpu, %.2f memory) before and (%.2f, %.2f) then.",
		r.before, r.during, before(cpu), before(memory), during(cpu), during(memory))
	r.values = []value{
		{"k_before", r.before, "1"}, {"k_during", r.during, "1"},
		{"q_cpu_before", before(cpu), "1"}, {"q_cpu_during", during(cpu), "1"},
		{"q_memory_before", before(memory), "1"}, {"q_memory_during", during(memory), "1"},
	}
	return r, nil
}
