package sim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Streams of random numbers, one a purpose, so that one scheduler's choices do
// not change what another draws.
const (
	streamNodes = iota + 1
	streamTies
	streamPhases
	streamRequests
	// streamOwn and those above are a scheduler's own, see Cluster.Rand.
	streamOwn = 1000
)

// machine is a node and what kube-scheduler's cache knows of it.
type machine struct {
	index int32
	model *node.Model
	// capacity is all it has, allocatable what pods may request.
	capacity, allocatable baseline.Resources
	// next is when its pods may change, the time of its event.
	next float64
	// starts is when the kubelet is free to start another pod.
	starts float64
	// assigned are the pods that the API has on the node, and those assumed.
	assigned           []int32
	requested, nonzero baseline.Resources
	limits             baseline.Resources // each at least the request
	running            int
	series             int // steps of the background so far
	// pressure is the node's MemoryPressure, tainted the scheduler's knowledge of it.
	pressure, tainted bool
}

// policy is the part of a scheduler of this package: what it filters and scores by,
// and the telemetry that feeds it.
type policy interface {
	Policy
	// start schedules the policy's own events.
	start()
	// everyNode reports whether all nodes are looked at, not kube-scheduler's sample.
	everyNode() bool
	// bound is called when the scheduler has assumed the pod on the node, announced when
	// the API has the bind, gone when it has the pod's end, and phase with each change on
	// the node itself.
	bound(m *machine, pod int32)
	announced(m *machine, pod int32)
	gone(m *machine, pod int32)
	phase(m *machine, t node.Transition)
	// withdrawn is called when a pod that waits is deleted; it may be created again.
	withdrawn(pod int32)
	// untainted is called when the scheduler sees the node's taint gone.
	untainted(m *machine)
	// refused is called when no node was found for a pod, retried when such a pod is about to
	// be tried because it has not been for long. wakes reports whether the policy itself
	// decides when a refused pod is tried again; else a pod's end does.
	refused(pod int32)
	retried(pod int32)
	wakes() bool
	handle(e event)
}

// sampler is a policy that looks at every node ten times a second.
type sampler interface {
	sample(m *machine)
}

// cluster is the state of a run.
type cluster struct {
	Config
	pods    []Pod
	claims  []claim // of the pods
	records []Record
	// refusals are those since the pod was created.
	refusals []int32
	// lives are the pods that were made anew for a pod, restarts those of its containers in
	// its present life.
	lives, restarts []int32
	nodes           []*machine
	policy          policy
	ties            *rand.Rand

	now    float64 // seconds from the start of the warm-up
	agenda agenda
	timers []timer
	order  []int32 // pods by creation
	next   int     // in order, the next to be created
	queue  queue
	busy   bool // the scheduler is at an attempt
	looked int  // where the next attempt starts to look at nodes

	services []*service
	replicas map[int32]*replica // of services, by pod

	unfinished int // pods that are to end
	lastGaveUp float64
	most       int
	// mostPerCore is of another node where nodes differ.
	mostPerCore float64
	transit     []node.Transition
	disruptions []Disruption
	before      Energy // taken in the warm-up
	feasible    []int
	scores      []float64
	err         error
}

// Run simulates the pods on the cluster until all have ended or the horizon has
// come. It depends on its arguments alone; the pods are not modified. Errors are
// a *field.Error, those of the parts, or ctx's.
func Run(ctx context.Context, c Config, pods []Pod) (Result, error) {
	c, err := checked(c, pods)
	if err != nil {
		return Result{}, err
	}
	s, err := newCluster(c, pods)
	if err != nil {
		return Result{}, err
	}
	if err := s.run(ctx); err != nil {
		return Result{}, err
	}
	return s.result(), nil
}

// checked returns the configuration with its defaults, if it and the pods are valid.
func checked(c Config, pods []Pod) (Config, error) {
	if err := c.validate(); err != nil {
		return c, err
	}
	c = c.withDefaults()
	if err := c.validateServices(pods); err != nil {
		return c, err
	}
	for i, p := range pods {
		if err := p.validate(i, c.Nodes); err != nil {
			return c, err
		}
	}
	return c, nil
}

func newCluster(c Config, pods []Pod) (*cluster, error) {
	s := &cluster{
		Config: c, pods: pods, claims: make([]claim, len(pods)), records: make([]Record, len(pods)), refusals: make([]int32, len(pods)),
		lives: make([]int32, len(pods)), restarts: make([]int32, len(pods)),
		ties:  rand.New(rand.NewPCG(c.Seed, streamTies)),
		order: make([]int32, len(pods)),
		queue: queue{unschedulable: map[int32]backing{}},
	}
	seeds := rand.New(rand.NewPCG(c.Seed, streamNodes))
	for i := range c.Nodes {
		p := c.node(i)
		p.Seed = seeds.Uint64()
		model, err := node.New(p)
		if err != nil {
			return nil, err
		}
		m := &machine{index: int32(i), model: model, next: math.Inf(1)}
		m.capacity = baseline.Resources{CPU: float64(model.Params().Cores), Memory: model.Params().Memory}
		m.allocatable = m.capacity.Minus(c.reserved(model.Params())).Max(baseline.Resources{})
		s.nodes = append(s.nodes, m)
	}
	for i, p := range pods {
		s.claims[i] = claimOf(&pods[i])
		s.records[i] = Record{Node: -1, Bound: -1, Running: -1, Done: -1}
		s.order[i] = int32(i)
		if !p.isServer() {
			s.unfinished++
		}
	}
	slices.SortStableFunc(s.order, func(a, b int32) int { return cmp.Compare(pods[a].Created, pods[b].Created) })
	p, err := c.Scheduler.Start(&Cluster{s})
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, refuse("Scheduler", c.Scheduler, "one that has a policy")
	}
	var own bool
	if s.policy, own = p.(policy); !own {
		if s.policy, err = newOpen(p, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// run is the main loop: it takes what comes first of the agenda, the next pod
// and the next sample, and at the same time in this order.
func (s *cluster) run(ctx context.Context) error {
	s.begin()
	sampler, samples := s.policy.(sampler)
	clock := newSampleClock(len(s.nodes))
	for steps := 0; s.err == nil && s.unfinished > 0; steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at, what := math.Inf(1), 0
		if len(s.agenda.heap) > 0 {
			at, what = s.agenda.heap[0].at, 1
		}
		if s.next < len(s.order) {
			if created := s.Warmup + s.pods[s.order[s.next]].Created; created < at {
				at, what = created, 2
			}
		}
		if samples && clock.at < at {
			at, what = clock.at, 3
		}
		if what == 0 || at > s.Warmup+s.Horizon {
			s.now = s.Warmup + s.Horizon
			break
		}
		s.now = at
		switch what {
		case 1:
			s.handle(s.agenda.pop())
		case 2:
			pod := s.order[s.next]
			s.next++
			s.create(pod)
		case 3:
			m := s.nodes[clock.node]
			clock.advance()
			s.advance(m)
			sampler.sample(m)
		}
	}
	return s.err
}

// begin places the pods that are there from the start.
func (s *cluster) begin() {
	for i, p := range s.pods {
		if p.On > 0 {
			s.place(int32(i), s.nodes[p.On-1])
		}
	}
	s.order = slices.DeleteFunc(s.order, func(i int32) bool { return s.pods[i].On > 0 })
	if len(s.Services) > 0 {
		s.newServices()
	}
	for _, m := range s.nodes {
		if len(s.Background) > 0 {
			s.load(m)
		}
	}
	s.agenda.add(event{at: flushPeriod, kind: flushed})
	if s.powered() {
		s.agenda.add(event{at: s.Warmup, kind: opened})
	}
	s.policy.start()
}

func (s *cluster) handle(e event) {
	switch e.kind {
	case changed:
		if m := s.nodes[e.node]; m.next == e.at {
			s.advance(m)
			s.schedule(m)
		}
	case decided:
		s.busy = false
		s.decide(e.pod)
	case announced:
		s.announce(s.nodes[e.node], e.pod)
	case ended:
		s.forget(s.nodes[e.node], e.pod)
	case failed:
		s.forget(s.nodes[e.node], e.pod)
		s.lives[e.pod]++
		if r := s.replicas[e.pod]; r != nil {
			s.replaceReplica(r)
			break
		}
		delay := restartDelay(int(s.lives[e.pod]))
		if s.isService(e.pod) {
			delay = 0
		}
		s.agenda.add(event{at: s.now + delay, kind: resubmitted, pod: e.pod})
	case resubmitted: // as a new pod
		s.refusals[e.pod], s.restarts[e.pod] = 0, 0
		s.declare(e.pod)
		s.queue.push(e.pod, s.now)
	case flushed:
		s.queue.flush(s.now, s.policy.retried)
		s.agenda.add(event{at: s.now + flushPeriod, kind: flushed})
	case timed:
		t := s.timers[e.pod]
		s.agenda.add(event{at: s.now + t.period, kind: timed, pod: e.pod})
		t.f()
	case loaded:
		s.load(s.nodes[e.node])
	case opened:
		s.open()
	case tainted:
		s.taint(s.nodes[e.node])
	case stepped:
		s.stepService(e.pod)
	case shared:
		s.shareRequests(e.pod)
	case scaled:
		s.scaleService(e.pod)
	case deleted:
		s.endReplica(e.pod)
	default:
		s.policy.handle(e)
	}
	s.attempt()
}

func (s *cluster) fail(err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("sim: at %g s: %w", s.now-s.Warmup, err)
	}
}

// load sets the background of a node for the next step of its series.
func (s *cluster) load(m *machine) {
	series := s.Background[int(m.index)%len(s.Background)]
	s.advance(m)
	s.fail(m.model.SetBackground(series.Cores[min(m.series, len(series.Cores)-1)]))
	m.series++
	s.schedule(m)
	if m.series < len(series.Cores) {
		s.agenda.add(event{at: s.now + series.Step, kind: loaded, node: m.index})
	}
}

func (s *cluster) create(pod int32) {
	s.declare(pod)
	if g, ok := s.policy.(gate); ok {
		g.hold(pod)
	} else {
		s.queue.push(pod, s.now)
	}
	s.attempt()
}

// advance brings a node to the present.
func (s *cluster) advance(m *machine) {
	s.transit = m.model.AdvanceTo(s.transit[:0], s.now)
	s.notePressure(m)
	if len(s.transit) == 0 {
		return
	}
	happened := slices.Clone(s.transit)
	for _, t := range happened {
		s.transition(m, t)
	}
	s.schedule(m)
}

// schedule puts the node's next change on the agenda.
func (s *cluster) schedule(m *machine) {
	next, ok := m.model.NextChange()
	if !ok {
		m.next = math.Inf(1)
		return
	}
	next = math.Max(next, s.now)
	if next != m.next || next == s.now {
		m.next = next
		s.agenda.add(event{at: next, kind: changed, node: m.index})
	}
}

// transition is a change of a pod on its node.
func (s *cluster) transition(m *machine, t node.Transition) {
	pod := int32(t.Pod)
	r := &s.records[pod]
	switch t.Phase {
	case node.Running:
		r.Running = t.At - s.Warmup
		s.restored(pod, r.Running)
		m.running++
		if s.pods[pod].Server.Rate == 0 {
			s.most = max(s.most, m.running)
			s.mostPerCore = max(s.mostPerCore, float64(m.running)/m.capacity.CPU)
		}
	case node.Succeeded:
		r.Done = t.At - s.Warmup
		m.running--
		s.unfinished--
		s.agenda.add(event{at: s.now + s.Latency, kind: ended, node: m.index, pod: pod})
	case node.Failed:
		r.Kills++
		m.running--
		s.lose(m, pod, s.now+s.Latency)
	case node.Evicted:
		r.Evictions++
		m.running--
		s.lose(m, pod, s.now+s.Latency)
	case node.Restarting:
		r.Running = -1
		r.Kills++
		m.running--
	}
	if r := s.replicas[pod]; r != nil { // its readiness changes
		s.agenda.add(event{at: s.now + s.Latency, kind: shared, pod: r.of})
	}
	s.policy.phase(m, t)
	if t.Phase == node.Restarting {
		s.restarting(m, t)
	}
}
