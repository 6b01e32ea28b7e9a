package sim

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/sim/thesis"
)

// Spazio is the scheduler of this repository: on each node its agent's pipeline,
// an aggregator, and the ledger and the decisions of its plugin beside
// kube-scheduler's default scores. The zero value is what it does by default.
type Spazio struct {
	// Agent configures the pipelines; Node, Schema, Channels and Cores are set
	// by the simulator.
	Agent agent.Config
	// Aggregate configures the aggregator.
	Aggregate thesis.AggregateConfig
	// Rules, Ranking, Freshness and Overdue are the plugin's.
	Rules     reserve.Rules
	Ranking   reserve.Ranking
	Freshness reserve.Freshness
	Overdue   reserve.OverdueAdmission
	// EnergyObjective says what makes a node good where Ranking.Energy is above 0, and
	// IdleNodesPowerDown that one without pods is asleep. Only then do agents measure what
	// their nodes take.
	EnergyObjective    energy.Objective
	IdleNodesPowerDown bool
	// Weight is that of the plugin's score beside the default ones; default 5,
	// as in the scheduler's profile.
	Weight float64
	// NodeReserve is the share of the CPU channel that all agents keep free, at least;
	// default 0.
	NodeReserve float64
	// ServerReserve is the share of the CPU channel that agents of nodes with a
	// server keep free, as an operator who knows of the servers sets it; default 0.
	ServerReserve float64
	// Pressure takes pressure for the contention of the CPU, as the thesis does, in
	// the place of the threads that wait.
	Pressure bool
	// NoFleet leaves out the aggregator, NoPooling the fleet's costs alone.
	NoFleet, NoPooling bool
	// Profiles have pods counted at what their workloads are known to take.
	Profiles Profiles
	// ShortestFirst has pods of workloads whose pods live for less tried first, as the plugin of
	// that name does, in the order that placement.Lives.Delay describes.
	ShortestFirst bool
	// Relief has the descheduler evict pods from overcommitted nodes (package relief).
	Relief bool
	// BlindBinds leaves the number of a pod's init containers out of the notice of
	// its bind, as if another scheduler had placed it.
	BlindBinds bool
	// Push is the period in seconds in which a node pushes its model; default 1,
	// the most that the agent's staleness rule allows, which is what a node
	// under changing load does.
	Push float64
}

// Defaults of Spazio.
const (
	DefaultWeight = 5
	DefaultPush   = 1
)

const (
	schema = "v2;cpu=half-runnable;memory=available"
)

// epoch is the time 0 of a run.
var epoch = time.Unix(1_000_000_000, 0)

func at(seconds float64) time.Time {
	return epoch.Add(elapsed(seconds))
}

func elapsed(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// spazio is the policy.
type spazio struct {
	plain
	options    Spazio
	rules      reserve.Rules
	agents     []spazioAgent
	ledger     reserve.Ledger
	aggregator thesis.Aggregator
	fleet      agent.Fleet
	merged     float64 // when fleet was merged
	placement  *placement.Queue
	classes    []demandClass    // by number
	predicted  []profile.Demand // of each pod, by its node's agent
	profiler   *profiler        // nil without profiles
	lives      *lives           // nil unless the shortest go first
	energy     *energyRanker    // nil where energy has no weight
	literal    bool             // see Scalar
	raw        []float64
	whole      []int64
	reading    []float64 // of the node that is sampled
}

// nodeAgent is what runs on a node: an [agent.Pipeline], or one that a variant
// makes of it.
type nodeAgent interface {
	Sample(at time.Time, y []float64) (agent.Report, bool, error)
	Pods(at time.Time, pods []agent.Pod) (agent.Report, bool, error)
	Churn(at time.Time)
	Bound(at time.Time, b agent.Bind)
	Usage(at time.Time, readings []agent.PodReading)
	Why() (agent.Why, bool)
	Local() (agent.Local, bool)
	SetFleet(at time.Time, f agent.Fleet) error
	Power(at time.Time, p energy.Power) error
	PodPower(at time.Time, pods []agent.PodPower) error
}

// spazioAgent is a node's agent, and what the scheduler knows of it.
type spazioAgent struct {
	name     string
	cores    int
	pipeline nodeAgent
	pushed   float64
	pods     []agent.Pod

	account  *reserve.Account
	validity reserve.Validity
	reported reserve.Signal
	signal   reserve.Signal // reported, held to what the ledger has seen
	power    energy.Power   // reported
	// tasksWait reports whether all cores were busy and tasks waited for one.
	tasksWait bool
	view      reserve.View // of signal and what is in flight
}

// Validate returns a *field.Error, or what a part's options are refused for.
func (o Spazio) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"Weight", o.Weight}, {"Push", o.Push}} {
		if !(f.value >= 0) || math.IsInf(f.value, 1) {
			return refuse(f.name, f.value, "a finite number ≥ 0 (0 is the default)")
		}
	}
	if o.EnergyObjective > energy.Remaining {
		return refuse("EnergyObjective", o.EnergyObjective, "Marginal or Remaining")
	}
	config := o.pipeline(node.Params{}.WithDefaults())
	config.Node = "node"
	for _, r := range []float64{o.NodeReserve, o.ServerReserve} {
		config.Channels[0].Reserve = r
		if err := config.Validate(); err != nil {
			return err
		}
	}
	return errors.Join(o.Profiles.validate(), o.Rules.Validate(), o.Ranking.Validate(), o.Freshness.Validate(), o.Overdue.Validate(), o.Aggregate.Validate())
}

// pipeline is the configuration of an agent, without its node's name.
func (o Spazio) pipeline(p node.Params) agent.Config {
	c := o.Agent
	c.Schema, c.Cores = schema, float64(p.Cores)
	c.Channels = []agent.Channel{{Name: agent.CPU, Size: c.Cores}, {Name: "memory", Size: p.Memory}}
	return c
}

// Start implements Scheduler.
func (o Spazio) Start(c *Cluster) (Policy, error) { return o.build(c.run) }

func (o Spazio) build(c *cluster) (*spazio, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	setDefault(&o.Weight, DefaultWeight)
	setDefault(&o.Push, DefaultPush)
	o.Freshness = o.Freshness.WithDefaults()
	s := &spazio{plain: plain{c}, options: o, rules: o.Rules.WithDefaults(), merged: math.Inf(-1)}
	var err error
	if o.Profiles.On {
		s.predicted = make([]profile.Demand, len(c.pods))
		if s.profiler, err = newProfiler(c, o.Profiles); err != nil {
			return nil, err
		}
		s.profiler.read, s.profiler.published = s.read, s.learn
	}
	if o.ShortestFirst {
		s.lives = newLives(c)
	}
	s.startPlacement()
	if o.Ranking.Energy > 0 {
		if s.energy, err = newEnergyRanker(c.nodes, o); err != nil {
			return nil, err
		}
	}
	if s.aggregator, err = thesis.NewAggregator(o.Aggregate); err != nil {
		return nil, err
	}
	servers := make(map[int]bool)
	for _, p := range c.pods {
		servers[p.On-1] = servers[p.On-1] || p.Server.Rate > 0
	}
	for i, m := range c.nodes {
		config := o.pipeline(m.model.Params())
		config.Node = nodeName(i)
		config.Channels[0].Reserve = o.NodeReserve
		if servers[i] {
			config.Channels[0].Reserve = max(o.ServerReserve, o.NodeReserve)
		}
		pipeline, err := agent.New(config)
		if err != nil {
			return nil, err
		}
		if _, _, err := pipeline.Pods(at(0), nil); err != nil {
			return nil, err
		}
		signal := reserve.Signal{Cores: float64(m.model.Params().Cores)}
		s.agents = append(s.agents, spazioAgent{
			name: config.Node, cores: m.model.Params().Cores, pipeline: pipeline, account: s.ledger.Account(config.Node),
			pushed: math.Inf(-1), validity: o.Freshness.Awaited(0),
			signal: signal, view: reserve.NewView(signal, reserve.Flight{}, s.rules),
		})
	}
	return s, nil
}

// The node's side.

func (s *spazio) sample(m *machine) {
	a := &s.agents[m.index]
	r, ok := m.model.Read()
	if !ok {
		return
	}
	s.reading = append(s.reading[:0], r.CPU(), r.Memory)
	if s.options.Pressure {
		s.reading[0] = r.PressuredCPU()
	}
	report, due, err := a.pipeline.Sample(at(s.c.now), s.reading)
	s.send(m, &report, due, err)
	if due && !s.options.NoFleet && s.c.now-a.pushed >= s.options.Push-samplePeriod/2 {
		s.push(a)
	}
}

// phase gives a node's agent what its pod source sees: containers that start and
// stop, and sandboxes that are gone, but not which containers are init containers.
func (s *spazio) phase(m *machine, t node.Transition) {
	a := &s.agents[m.index]
	now := at(t.At)
	if t.Phase != node.Removed {
		a.pipeline.Churn(now)
	}
	key := s.c.key(int32(t.Pod))
	if s.literal && t.Phase == node.Running {
		s.c.agenda.add(event{at: s.c.now + s.c.Latency, kind: shown, node: m.index, pod: int32(t.Pod)})
	}
	a.see(key, t.Phase)
	if s.profiler != nil {
		s.profiler.phase(m, t)
	}
	report, due, err := a.pipeline.Pods(now, a.pods)
	s.send(m, &report, due, err)
}

// start has the profiler tell what it knows, and the agents measure.
func (s *spazio) start() {
	if s.profiler != nil {
		s.profiler.start()
	}
	if s.energy != nil {
		s.startMeters()
	}
	if s.options.Relief {
		s.startRelief()
	}
}

// read gives the agent a reading that it made for the profiler.
func (s *spazio) read(m *machine, r agent.PodReading) {
	s.agents[m.index].pipeline.Usage(at(s.c.now), []agent.PodReading{r})
}

// see brings the pods of a node's source up to date.
func (a *spazioAgent) see(key reserve.PodKey, phase node.Phase) {
	i := slices.IndexFunc(a.pods, func(p agent.Pod) bool { return p.Key == key })
	if i < 0 {
		i = len(a.pods)
		a.pods = append(a.pods, agent.Pod{Key: key})
	}
	p := &a.pods[i]
	switch phase {
	case node.Initialising, node.Running:
		p.State = agent.PodRunning
		p.Starts++
	case node.Initialised, node.Succeeded, node.Restarting:
		p.State = agent.PodStopped
	case node.Removed, node.Failed, node.Evicted:
		a.pods = slices.Delete(a.pods, i, i+1)
	}
}

// send puts a report on its way.
func (s *spazio) send(m *machine, r *agent.Report, due bool, err error) {
	s.c.fail(err)
	if !due || err != nil {
		return
	}
	signal := r.SignalWith(s.options.Agent.Avail.AvailOptions)
	signal.Cores = float64(s.agents[m.index].cores)
	s.c.agenda.add(event{
		at: s.c.now + s.c.Latency, kind: reported, node: m.index,
		report: &report{signal: signal, listed: r.Pods, mispredictions: r.Mispredictions, power: r.Power, cores: r.PodCores, tasksWait: r.Channels[0].Usage > .5},
	})
}

// push gives the node's model to the aggregator and takes the fleet's, merged
// anew once in a period of pushes.
func (s *spazio) push(a *spazioAgent) {
	local, ok := a.pipeline.Local()
	if !ok {
		return
	}
	a.pushed = s.c.now
	now := at(s.c.now)
	costs := make([]aggregate.Cost, len(local.Costs))
	for i, c := range local.Costs {
		costs[i] = aggregate.Cost(c)
	}
	_, err := s.aggregator.Put(now, aggregate.Local{
		Node: a.name, Incarnation: local.Incarnation, Sequence: local.Sequence,
		Schema: local.Schema, Model: local.Model, Costs: costs,
	})
	s.c.fail(err)
	if s.c.now-s.merged >= s.options.Push {
		s.merge(now)
	}
	if s.fleet.Nodes > 0 {
		s.c.fail(a.pipeline.SetFleet(now, s.fleet))
	}
}

func (s *spazio) merge(now time.Time) {
	s.merged = s.c.now
	globals, err := s.aggregator.Globals(now)
	s.c.fail(err)
	if len(globals) == 0 {
		return
	}
	g := globals[0]
	s.fleet = agent.Fleet{Schema: g.Schema, Model: g.Model, Nodes: g.Nodes}
	if !s.options.NoPooling {
		for _, c := range g.Costs {
			s.fleet.Costs = append(s.fleet.Costs, agent.Cost(c))
		}
	}
}

// The scheduler's side.

func (s *spazio) handle(e event) {
	if s.profiler != nil && s.profiler.handle(e) {
		return
	}
	a := &s.agents[e.node]
	switch e.kind {
	case reported:
		if !s.literal {
			s.ledger.Confirm(a.name, 1, e.report.listed, at(s.c.now))
		}
		a.reported, a.validity = e.report.signal, s.options.Freshness.Reported(s.now())
		a.power, a.tasksWait = e.report.power, e.report.tasksWait
		s.consumed(e.report)
		s.refresh(int(e.node))
		s.mispredicted(e.node, e.report.mispredictions)
	case metered:
		s.meter(s.c.nodes[e.node])
	case overdue:
		s.wakeOverdue()
	case shown: // the API shows the pod running
		s.ledger.Delete(s.c.key(e.pod), at(s.c.now))
		s.refresh(int(e.node))
	case published: // the notice of a bind arrives at the agent
		s.c.advance(s.c.nodes[e.node])
		b := agent.Bind{Pod: s.c.key(e.pod)}
		if !s.options.BlindBinds {
			b.Inits, b.InitsKnown = s.c.pods[e.pod].Init.Containers, true
		}
		if k := s.classOf(e.pod); k != placement.Typical && !s.options.Profiles.Scalar {
			b.Demand = s.classes[k].known
			s.predicted[e.pod] = b.Demand
		}
		a.pipeline.Bound(at(s.c.now), b)
	}
}

// now is the time in the form in which package reserve takes it, moment that of a
// scheduler that never stood still.
func (s *spazio) now() time.Duration     { return elapsed(s.c.now) }
func (s *spazio) moment() reserve.Moment { return reserve.Moment{Now: s.now()} }

// refresh decides anew for a node and wakes pods if it gained slots.
func (s *spazio) refresh(node int) {
	a := &s.agents[node]
	switch {
	case s.literal: // its ledger confirms nothing
		a.signal = a.reported
	case a.validity.Fresh(s.now()):
		a.signal = a.account.Cap(a.reported, at(s.c.now))
	}
	a.view = reserve.NewView(a.signal, a.account.Flight(), s.rules)
	s.placement.NotifyNode(node, s.now())
	s.activate()
}

// refused has a pod wait for any node whose taint it tolerates, and leaves the turn to another
// while there is room for one.
func (s *spazio) refused(pod int32) {
	set := placement.EveryNode()
	for i, m := range s.c.nodes {
		if !s.c.tolerates(m, pod) {
			set.Remove(i)
		}
	}
	s.placement.Refuse(int(pod), set, s.now())
	s.activate()
}

// withdrawn has a pod count as one that was not tried yet.
func (s *spazio) withdrawn(pod int32) {
	s.placement.RemovePod(int(pod))
	s.resubmit(pod)
}

// untainted counts a node as one that joins, so that its room is news to pods.
func (s *spazio) untainted(m *machine) {
	s.placement.RemoveNode(int(m.index), s.now())
	s.placement.AddNode(int(m.index))
	s.placement.NotifyNode(int(m.index), s.now())
	s.activate()
}

func (s *spazio) retried(pod int32) { s.placement.Try(int(pod), s.now()) }

func (s *spazio) wakes() bool     { return true }
func (s *spazio) everyNode() bool { return true }

func (s *spazio) Admits(node, pod int) bool {
	a := &s.agents[node]
	reason := s.verdict(a, int32(pod))
	switch {
	case reason == reserve.Admitted:
		return true
	case s.placement.IsOverdue(pod):
		return s.placement.MayExceed(pod, node)
	case reason.Full():
		s.denyRoom(int32(pod))
	}
	return false
}

// verdict returns what the plugin's filter decides on a pod.
func (s *spazio) verdict(a *spazioAgent, pod int32) reserve.Reason {
	return s.options.Freshness.Admit(a.validity, s.moment(), a.view.Judge(s.asks(a, s.classOf(pod))))
}

// score adds the plugin's normalised score to kube-scheduler's own.
func (s *spazio) Score(scores []float64, nodes []int, pod int) {
	now, lowest := s.now(), 0.
	if s.placement.IsOverdue(pod) {
		for _, i := range nodes {
			lowest = min(lowest, s.rank(&s.agents[i], int32(pod)))
		}
	}
	s.raw = s.raw[:0]
	goodness := s.energyScore(int32(pod))
	for _, i := range nodes {
		a := &s.agents[i]
		raw := reserve.Score(s.rank(a, int32(pod))-lowest, a.signal.K, goodness(a), s.c.ties.Float64(), s.options.Ranking)
		if !s.options.Freshness.Ranked(a.validity, now) {
			raw = math.NaN()
		}
		s.raw = append(s.raw, raw)
	}
	s.whole = reserve.NormalizeTo(s.whole, s.raw)
	for i, n := range nodes {
		scores[i] = s.options.Weight*float64(s.whole[i]) + s.c.defaultScore(s.c.nodes[n], int32(pod))
	}
}

func (s *spazio) bound(m *machine, pod int32) {
	a := &s.agents[m.index]
	admittedOverdue := s.placement.IsOverdue(int(pod)) && s.verdict(a, pod) != reserve.Admitted
	k := s.classOf(pod)
	s.c.fail(s.ledger.Reserve(a.name, s.c.key(pod), s.withCores(s.asks(a, k), pod), at(s.c.now)))
	s.c.records[pod].Expected = s.classes[k].known
	if s.lives != nil {
		s.lives.bound[pod] = s.c.now
	}
	s.placement.RemovePod(int(pod))
	if admittedOverdue {
		s.ledger.MarkOverdue(s.c.key(pod))
	}
	s.refresh(int(m.index))
}

func (s *spazio) announced(m *machine, pod int32) {
	s.ledger.MarkBound(s.c.key(pod))
	if s.literal {
		return
	}
	s.c.agenda.add(event{at: s.c.now + s.c.Latency, kind: published, node: m.index, pod: pod})
}

// gone frees what the pod held; where it held a request, too, any unschedulable pod may
// fit now.
func (s *spazio) gone(m *machine, pod int32) {
	k := s.c.key(pod)
	if r := &s.c.records[pod]; r.Done < 0 && !r.GaveUp { // it will be made anew
		s.resubmit(pod)
	}
	if s.lives != nil {
		s.lives.end(pod)
	}
	s.ledger.Progress(k, reserve.Ended)
	s.ledger.Delete(k, at(s.c.now))
	s.refresh(int(m.index))
	s.placement.NotifyEnd(s.now())
	s.activate()
}
