package node

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// container is a pod on the node.
type container struct {
	Pod
	phase          Phase
	spikeAt, runAt float64
	inits          int     // init containers that are left, one that runs included
	initEnd        float64 // of one that waits
	class          *class
	began          float64 // what the class had served when the pod joined
	before         Usage   // what it had used and waited
	threads        int     // that have work left
	held           float64 // bytes of its memory
	grows          float64 // when it takes more
	stages         stages
	requests       *rand.Rand
	// expected is how many requests would come on average until the next one does.
	expected    float64
	nextRequest float64
	quota       *quota  // nil without a limit
	past        Usage   // until its restart, its present stage or its requests
	backoff     float64 // before its next restart, 0 before the first
}

// next is when the pod enters its next phase unless it is running.
func (c *container) next() float64 {
	switch c.phase {
	case Bound, Initialised, Restarting:
		return c.spikeAt
	case Starting:
		return c.runAt
	case Initialising:
		return c.initEnd
	case Running:
		return min(c.nextRequest, c.grows, c.stages.end)
	}
	return math.Inf(1)
}

// rests reports whether a pod just works until it ends: most do, most of the time.
func (c *container) rests() bool {
	return c.phase == Killed || c.phase == Running && math.IsInf(c.next(), 1)
}

// Model is one node, advanced in virtual time. It is not safe for concurrent
// use.
type Model struct {
	params Params
	cores  float64
	now    float64

	containers []*container // in order of arrival
	pending    []*container // those of them that await something, in the same order
	removals   []Transition // sandboxes of pods that have ended, by time
	nextPhase  float64      // the least next of all containers
	classes    []*class     // none empty
	ended      []endedPod   // since AdvanceTo was called last
	bursts     *class       // in classes while not empty
	background *class       // the same
	free       []*class     // for reuse
	lasting    []*class     // scratch of NextChange
	used       float64      // bytes asked for
	nextBurst  float64
	kubelet    kubelet

	wanted, held float64 // cores, as long as nothing changes
	working      float64 // core-seconds a second that pods receive
	watts        float64
	totals       Totals
	responses    []float64
	read         counters
	waiting      waiting
	energy       energyCounter

	daemons, noise, moment, sensor *rand.Rand
}

// Totals are sums since the model's start.
type Totals struct {
	// Busy is what all threads received, Pods what pods that have work did,
	// finished or not, and Lost what of it killed and failed pods had done, all
	// in core-seconds.
	Busy, Pods, Lost float64
	// Stolen is what the hypervisor took of the cores that threads held, in
	// core-seconds.
	Stolen float64
	// Waited is the time in which a thread waited for a core, Overcommitted that
	// in which pods asked for more memory than there is, in seconds.
	Waited, Overcommitted float64
	// Stalled is the time in which a thread waited for a core as the kernel adds
	// it up for its pressure: the share of the cores that had one, over time, in
	// seconds.
	Stalled float64
	// ByteSeconds is the integral of the memory asked for.
	ByteSeconds float64
	// Joules is the energy taken, IdleJoules what of it is taken without load, and
	// EmptyJoules what was taken while no pod was on the node.
	Joules, IdleJoules, EmptyJoules float64
	// Failed is how many requests ended with their server, without a response.
	Failed int
}

// New returns an empty node at time 0, or a *field.Error.
func New(p Params) (*Model, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	p = p.WithDefaults()
	m := &Model{
		params:     p,
		cores:      float64(p.Cores),
		bursts:     &class{kind: bursting, weight: 1, want: 1},
		background: &class{kind: loading},
		nextPhase:  math.Inf(1),
		// Streams of their own: reading a sample must not change the daemons.
		daemons: rand.New(rand.NewPCG(p.Seed, 1)),
		noise:   rand.New(rand.NewPCG(p.Seed, 2)),
		moment:  rand.New(rand.NewPCG(p.Seed, 3)),
		sensor:  rand.New(rand.NewPCG(p.Seed, 4)),
		watts:   p.Power.At(0),
	}
	m.used = m.memory()
	m.nextBurst = m.burstGap()
	m.startKubelet()
	return m, nil
}

// Params returns the node's parameters, defaults filled in.
func (m *Model) Params() Params { return m.params }

// Now returns the time the model has been advanced to.
func (m *Model) Now() float64 { return m.now }

// Totals returns the sums up to now.
func (m *Model) Totals() Totals { return m.totals }

// Memory returns the bytes asked for, which may be more than there are.
func (m *Model) Memory() float64 { return m.used }

// Bind puts a pod on the node at the given time, or now if that has passed. A
// pod that can't run is ErrBadPod, one that is there ErrDuplicatePod, and one that the
// kubelet does not admit ErrPressure; nothing changes then.
func (m *Model) Bind(at float64, p Pod) error {
	if err := p.validate(); err != nil {
		return err
	}
	if !finite(at) {
		return fmt.Errorf("%w: bound at %v", ErrBadPod, at)
	}
	if m.find(p.ID) >= 0 {
		return fmt.Errorf("%w: %d", ErrDuplicatePod, p.ID)
	}
	if m.kubelet.pressure && p.QOS == BestEffort {
		return fmt.Errorf("%w: %d", ErrPressure, p.ID)
	}
	given := p.Threads
	if p.Cores == 0 {
		p.Cores = 1
	}
	if p.Weight == 0 {
		p.Weight = 1
	}
	if p.Threads == 0 {
		p.Threads = max(1, int(math.Ceil(p.Cores)))
	}
	bound := max(m.now, at)
	c := &container{
		Pod:     p,
		phase:   Bound,
		runAt:   bound + p.Startup,
		spikeAt: max(bound, bound+p.Startup-m.params.StartWork.Seconds()),
		inits:   p.Init.Containers,

		nextRequest: math.Inf(1), grows: math.Inf(1), stages: stages{end: math.Inf(1), threads: given},
	}
	if p.Limit > 0 {
		c.quota = &quota{limit: p.Limit}
	}
	m.containers = append(m.containers, c)
	m.pending = append(m.pending, c)
	m.nextPhase = min(m.nextPhase, c.next())
	return nil
}

// Kill removes a pod at the model's present time and reports whether it was
// there.
func (m *Model) Kill(id PodID) bool {
	i := m.find(id)
	if i < 0 {
		return false
	}
	killed := m.containers[i]
	m.takeThreads(killed)
	m.containers = slices.Delete(m.containers, i, i+1)
	m.pending = slices.DeleteFunc(m.pending, func(c *container) bool { return c == killed })
	m.schedule()
	m.rebalance()
	return true
}

// SetBackground replaces the background load, in cores, from now on: threads
// that are no pods, of weight 1 each. Less than 0 or no number is ErrBadPod.
func (m *Model) SetBackground(cores float64) error {
	if !finite(cores) {
		return fmt.Errorf("%w: background %v", ErrBadPod, cores)
	}
	b := m.background
	if was := len(b.threads) > 0; was != (cores > 0) {
		if was {
			b.remove(0)
			m.drop(b)
		} else {
			b.add(thread{})
			m.classes = append(m.classes, b)
		}
	}
	b.want, b.weight = cores/m.pace(), max(cores, 1)
	m.rebalance()
	return nil
}

// AdvanceTo runs the node until the given time and appends the transitions that
// happened, in order of time, to dst. A time in the past changes nothing.
func (m *Model) AdvanceTo(dst []Transition, to float64) []Transition {
	m.ended = m.ended[:0]
	for m.now <= to {
		next := max(m.now, min(m.nextBurst, m.nextPhase, m.kubelet.check, m.kubelet.status))
		if len(m.removals) > 0 {
			next = max(m.now, min(next, m.removals[0].At))
		}
		for _, c := range m.classes {
			next = min(next, m.now+max(c.left(), 0))
			if c.quota != nil {
				next = max(m.now, min(next, c.quota.next(m.now, c)))
			}
		}
		if next > to+settled {
			m.run(to - m.now)
			m.now = to
			break
		}
		next = min(next, to)
		m.run(next - m.now)
		m.now = next
		dst = m.settle(dst)
	}
	return dst
}

// NextChange returns a time before which no pod changes its phase if nothing
// else happens: what daemons and requests take meanwhile can only delay it. ok
// is false where none will ever change.
func (m *Model) NextChange() (at float64, ok bool) {
	next := m.nextCheck()
	for _, c := range m.pending {
		if c.phase != Running {
			next = min(next, c.next())
		}
		next = min(next, c.grows, c.stages.end)
	}
	if len(m.removals) > 0 {
		next = min(next, m.removals[0].At)
	}
	m.lasting = m.lasting[:0]
	for _, c := range m.classes {
		if c.kind == working || c.kind == loading || c.kind == preparing {
			m.lasting = append(m.lasting, c)
		}
	}
	if passing := len(m.lasting) < len(m.classes); passing {
		m.share(m.lasting)
		defer m.rebalance()
	}
	for _, c := range m.lasting {
		next = min(next, m.now+c.left())
		if c.quota != nil { // others are faster while it is held up
			next = min(next, c.quota.next(m.now, c))
		}
	}
	return next, !math.IsInf(next, 1)
}

// Running appends the running pods to dst in order of arrival.
func (m *Model) Running(dst []PodID) []PodID {
	for _, c := range m.containers {
		if c.phase == Running {
			dst = append(dst, c.ID)
		}
	}
	return dst
}

// Progress returns the core-seconds that a pod has received; ok is false for
// one that isn't there.
func (m *Model) Progress(id PodID) (done float64, ok bool) {
	i := m.find(id)
	if i < 0 {
		return 0, false
	}
	return m.containers[i].done(), true
}

// Responses appends the response times, in seconds, of the requests answered
// since the last call to dst.
func (m *Model) Responses(dst []float64) []float64 {
	dst = append(dst, m.responses...)
	m.responses = m.responses[:0]
	return dst
}

// done is what a pod has received; a server's requests do not count.
func (c *container) done() float64 {
	if c.class == nil || c.class.kind != working {
		return c.stages.done
	}
	n := float64(c.Threads)
	return c.stages.done + min(n*(c.class.served-c.began), c.Work)
}

// run lets the threads work for step seconds.
func (m *Model) run(step float64) {
	for _, c := range m.classes {
		c.served += c.rate * step
		c.used += c.uses * step
		c.waited += c.waits * step
		if c.quota != nil {
			c.quota.run(c, step)
		}
		if c.server != nil {
			c.server.past.CPU += c.uses * float64(len(c.threads)) * step
			c.server.past.Stalled += c.waits * step
		}
	}
	t := &m.totals
	t.Busy += m.held * m.pace() * step
	t.Stolen += m.held * m.params.Steal * step
	t.Pods += m.working * step
	t.ByteSeconds += m.used * step
	m.meter(step)
	if m.wanted > m.cores*(1+1e-12) {
		t.Waited += step
		t.Stalled += m.stalled(step)
	}
	if m.used > m.params.Memory {
		t.Overcommitted += step
	}
}

// settled is the span below which a change is due now. It stays above the
// resolution of a float64 for three years of virtual time, so that a step never
// rounds to nothing.
const settled = 1e-7

// settle applies every change that is due at the present time.
func (m *Model) settle(dst []Transition) []Transition {
	if m.nextBurst <= m.now+settled {
		m.burst(m.daemons.ExpFloat64() * burstSeconds)
		m.nextBurst = m.now + m.burstGap()
	}
	dst = m.end(dst)
	if m.nextPhase <= m.now+settled {
		for _, c := range m.pending {
			dst = m.enter(dst, c)
		}
		dst = m.fit(dst)
		dst = m.end(dst) // pods without work
		m.schedule()
	}
	dst = m.checkMemory(dst)
	dst = m.remove(dst)
	for _, c := range m.classes {
		if c.quota != nil {
			c.quota.settle(m.now, m.cores)
		}
	}
	m.rebalance()
	return dst
}

// remove lets the sandboxes go that are due.
func (m *Model) remove(dst []Transition) []Transition {
	due := 0
	for due < len(m.removals) && m.removals[due].At <= m.now+settled {
		dst = append(dst, Transition{m.now, m.removals[due].Pod, Removed})
		due++
	}
	m.removals = slices.Delete(m.removals, 0, due)
	return dst
}

// end lets the threads go that have done their work.
func (m *Model) end(dst []Transition) []Transition {
	ended := false
	for i := 0; i < len(m.classes); i++ {
		c := m.classes[i]
		for c.kind != loading && len(c.threads) > 0 && c.threads[0].target-c.served <= settled {
			used := c.threads[0].usage()
			t := c.remove(0)
			switch {
			case c.kind == serving:
				m.responses = append(m.responses, m.now-t.began)
			case c.kind == preparing:
				dst = m.initialised(dst, t.pod)
			case t.pod != nil && t.pod.threads > 1: // the others end now, too
				t.pod.threads--
			case t.pod != nil && len(t.pod.stages.left) > 0:
				m.endStage(t.pod, used)
			case t.pod != nil:
				m.ended = append(m.ended, endedPod{t.pod.ID, used})
				t.pod.phase, t.pod.class, ended = Succeeded, nil, true
				dst = append(dst, Transition{m.now, t.pod.ID, Succeeded})
				m.removals = append(m.removals, Transition{m.now + m.params.Teardown.Seconds(), t.pod.ID, Removed})
				m.burst(m.params.StopWork.Seconds())
			}
		}
		if len(c.threads) == 0 {
			m.drop(c)
			i--
		}
	}
	if ended {
		succeeded := func(c *container) bool { return c.phase == Succeeded }
		m.containers = slices.DeleteFunc(m.containers, succeeded)
		m.pending = slices.DeleteFunc(m.pending, succeeded)
		m.used = m.memory()
	}
	return dst
}

// enter moves a pod on that is due to start, to run or to get a request.
func (m *Model) enter(dst []Transition, c *container) []Transition {
	if c.phase == Initialising && c.initEnd <= m.now+settled {
		dst = m.initialised(dst, c)
	}
	if (c.phase == Bound || c.phase == Initialised || c.phase == Restarting) && c.spikeAt <= m.now+settled {
		c.phase = Starting
		dst = append(dst, Transition{m.now, c.ID, Starting})
		m.burst(m.params.StartWork.Seconds())
	}
	if c.phase == Starting && c.runAt <= m.now+settled && c.inits > 0 {
		c.phase = Initialising
		dst = append(dst, Transition{m.now, c.ID, Initialising})
		m.initialise(c)
	}
	if c.phase == Starting && c.runAt <= m.now+settled {
		c.phase = Running
		dst = append(dst, Transition{m.now, c.ID, Running})
		m.begin(c)
	}
	if c.phase == Running && c.nextRequest <= m.now+settled {
		m.request(c)
	}
	if c.phase == Running && c.stages.end <= m.now+settled {
		m.enterStage(c)
	}
	if c.phase == Running && c.grows <= m.now+settled {
		m.grow(c)
	}
	return dst
}

// initialise runs the next init container.
func (m *Model) initialise(c *container) {
	c.initEnd = m.now + c.Init.Seconds
	if c.Init.Cores == 0 {
		return
	}
	c.initEnd = math.Inf(1) // by its thread
	c.class = m.classOf(preparing, c.Weight, min(c.Init.Cores/m.pace(), 1))
	c.class.add(thread{target: c.class.served + c.Init.Seconds*c.Init.Cores, pod: c})
}

// initialised ends an init container and has the next container start.
func (m *Model) initialised(dst []Transition, c *container) []Transition {
	c.phase, c.class = Initialised, nil
	c.inits--
	c.runAt = m.now + c.Init.Gap
	c.spikeAt = max(m.now, c.runAt-m.params.StartWork.Seconds())
	m.nextPhase = min(m.nextPhase, c.spikeAt)
	m.burst(m.params.StopWork.Seconds())
	return append(dst, Transition{m.now, c.ID, Initialised})
}

func (m *Model) begin(c *container) {
	if len(c.Stages) > 0 {
		c.stages.left = c.Stages
		m.enterStage(c)
		return
	}
	c.grows = m.now
	m.grow(c)
	if c.Server.Work > 0 {
		c.requests = rand.New(rand.NewPCG(c.Seed, uint64(c.ID)^1<<63))
		m.drawRequest(c)
		return
	}
	m.work(c)
}

// work has a pod's threads begin its work.
func (m *Model) work(c *container) {
	n := float64(c.Threads)
	c.class = m.classFor(c, working, c.Weight/n, min(c.Cores/n/m.pace(), 1))
	c.began, c.threads = c.class.served, c.Threads
	c.before = Usage{CPU: c.class.used, Stalled: c.class.waited}
	for range c.Threads {
		c.class.add(thread{target: c.began + c.Work/n, pod: c})
	}
}

// growth is the steps in which a pod takes its memory where it does so over time.
const growth = 10

// grow lets a pod take more of its memory.
func (m *Model) grow(c *container) {
	if len(c.Stages) > 0 {
		m.collect(c)
		return
	}
	c.held += c.Memory / growth
	c.grows += c.Ramp / growth
	if c.Ramp == 0 || c.held > c.Memory*(1-.5/growth) {
		c.held, c.grows = c.Memory, math.Inf(1)
	}
	m.used = m.memory()
}

func (m *Model) request(c *container) {
	if c.class == nil {
		c.class = m.reuse()
		*c.class = class{kind: serving, weight: c.Weight, want: 1, server: c, threads: c.class.threads}
		m.classes = append(m.classes, c.class)
		m.limit(c)
	}
	work := c.requests.ExpFloat64() * c.Server.Work
	c.class.add(thread{target: c.class.served + work, pod: c, began: m.now})
	m.drawRequest(c)
}

// await has a container among those that await something.
func (m *Model) await(c *container) {
	if !slices.Contains(m.pending, c) {
		m.pending = append(m.pending, c)
	}
}

// drawRequest draws a server's next request.
func (m *Model) drawRequest(c *container) {
	c.expected = c.requests.ExpFloat64()
	m.expectRequest(c)
}

// expectRequest finds when a server's next request comes at its present rate.
func (m *Model) expectRequest(c *container) {
	c.nextRequest = math.Inf(1)
	if c.Server.Rate > 0 {
		c.nextRequest = m.now + c.expected/c.Server.Rate
	}
}

// Requests returns how many requests a server has that are not answered.
func (m *Model) Requests(id PodID) int {
	if i := m.find(id); i >= 0 {
		return m.containers[i].open()
	}
	return 0
}

// open is the number of a server's requests that are not answered.
func (c *container) open() int {
	if c.class == nil || c.class.kind != serving {
		return 0
	}
	return len(c.class.threads)
}

// SetRate sets the mean number of requests a second of a server that is there, from now on;
// 0 is none. No such server, or a rate that is none, is ErrBadPod.
func (m *Model) SetRate(id PodID, rate float64) error {
	i := m.find(id)
	if i < 0 || m.containers[i].Server.Work == 0 || !finite(rate) {
		return fmt.Errorf("%w: rate %v of %d", ErrBadPod, rate, id)
	}
	c := m.containers[i]
	if c.Server.Rate == rate {
		return nil
	}
	if c.phase == Running && c.Server.Rate > 0 { // the same requests come, sooner or later
		c.expected = max(c.nextRequest-m.now, 0) * c.Server.Rate
	}
	if c.Server.Rate = rate; c.phase == Running {
		m.expectRequest(c)
		m.await(c)
		m.schedule()
	}
	return nil
}

// fit kills pods while they take too much memory, unless the node swaps.
func (m *Model) fit(dst []Transition) []Transition {
	for m.params.Overcommit != Swap && m.used > m.params.Memory {
		before, end := killedBefore, m.restart
		if m.params.Overcommit == Kill {
			before, end = heldBefore, m.fail
		}
		victim := m.worst(before)
		if victim == nil {
			return dst
		}
		dst = end(dst, victim)
	}
	return dst
}

// fail takes a killed pod off the node.
func (m *Model) fail(dst []Transition, c *container) []Transition { return m.lose(dst, c, Failed) }

// lose takes a running pod off the node for ever, whose last phase is the given one.
func (m *Model) lose(dst []Transition, c *container, last Phase) []Transition {
	m.ended = append(m.ended, endedPod{c.ID, c.usage()})
	m.takeThreads(c)
	m.containers = slices.DeleteFunc(m.containers, func(other *container) bool { return other == c })
	m.pending = slices.DeleteFunc(m.pending, func(other *container) bool { return other == c })
	m.used = m.memory()
	return append(dst, Transition{m.now, c.ID, last})
}

// takeThreads takes a container's threads away; its entry is the caller's.
func (m *Model) takeThreads(c *container) {
	if c.phase != Running && c.phase != Initialising {
		return
	}
	m.burst(m.params.StopWork.Seconds())
	c.phase = Killed
	m.totals.Lost += c.done()
	m.totals.Failed += c.open()
	m.used = m.memory()
	class := c.class
	if class == nil {
		return
	}
	for i := class.of(c); i >= 0; i = class.of(c) {
		class.remove(i)
	}
	if len(class.threads) == 0 {
		m.drop(class)
	}
}

// burst starts a thread that belongs to no pod.
func (m *Model) burst(work float64) {
	if work <= settled {
		return
	}
	if len(m.bursts.threads) == 0 {
		m.classes = append(m.classes, m.bursts)
	}
	m.bursts.add(thread{target: m.bursts.served + work})
}

// classFor returns the class of a pod: one of its own if it has a limit.
func (m *Model) classFor(pod *container, k kind, weight, want float64) *class {
	if pod.quota == nil {
		return m.classOf(k, weight, want)
	}
	pod.class = m.reuse()
	*pod.class = class{kind: k, weight: weight, want: want, threads: pod.class.threads}
	m.classes = append(m.classes, pod.class)
	m.limit(pod)
	return pod.class
}

// limit has the quota of a pod, if it has one, hold up its class.
func (m *Model) limit(pod *container) {
	if pod.quota != nil {
		pod.class.quota = pod.quota
		pod.quota.refill(m.now, m.cores)
	}
}

// classOf returns the class of a weight and a want, which the caller fills.
func (m *Model) classOf(k kind, weight, want float64) *class {
	for _, c := range m.classes {
		if c.kind == k && c.weight == weight && c.want == want && c.quota == nil {
			return c
		}
	}
	c := m.reuse()
	*c = class{kind: k, weight: weight, want: want, threads: c.threads}
	m.classes = append(m.classes, c)
	return c
}

func (m *Model) reuse() *class {
	if n := len(m.free); n > 0 {
		c := m.free[n-1]
		m.free = m.free[:n-1]
		return c
	}
	return new(class)
}

// drop takes an empty class out.
func (m *Model) drop(c *class) {
	m.classes = slices.DeleteFunc(m.classes, func(d *class) bool { return d == c })
	if c.server != nil {
		c.server.class, c.server = nil, nil
	}
	if c != m.bursts && c != m.background {
		m.free = append(m.free, c)
	}
}

// schedule finds the next change of a phase.
func (m *Model) schedule() {
	m.pending = slices.DeleteFunc(m.pending, (*container).rests)
	m.nextPhase = math.Inf(1)
	for _, c := range m.pending {
		m.nextPhase = min(m.nextPhase, c.next())
	}
}

// rebalance shares the cores anew.
func (m *Model) rebalance() {
	m.wanted, m.held = m.share(m.classes)
	m.working = 0
	for _, c := range m.classes {
		if c.kind == working {
			m.working += c.rate * float64(len(c.threads))
		}
	}
	m.watts = m.params.Power.At(min(m.held/m.cores, 1))
}

// share sets the rates of the classes, which may be some of the node's, and returns
// the sum of the wants and of the cores held.
func (m *Model) share(classes []*class) (wanted, held float64) {
	wanted, held = share(classes, m.cores, m.speed(), m.pace())
	if left := m.params.Crowding.left(wanted / m.cores); left < 1 {
		for _, c := range classes {
			if c.slows() {
				c.rate *= left
			}
		}
	}
	return wanted, held
}

// left is the share of its work that a thread does with so many threads a core.
func (c Crowding) left(threads float64) float64 {
	return 1 / (1 + min(c.Most, c.Each*max(threads-1, 0)))
}

// burstSeconds is the mean CPU time of one burst of a daemon, swapSlowdown what the speed of pods is
// divided by while memory is over-committed.
const (
	burstSeconds = .005
	swapSlowdown = 5.
)

// speed is the share of its rate that swapping leaves a pod.
func (m *Model) speed() float64 {
	if m.used > m.params.Memory {
		return 1 / swapSlowdown
	}
	return 1
}

// pace is what a core that a thread holds yields.
func (m *Model) pace() float64 { return 1 - m.params.Steal }

// memory sums up what is asked for.
func (m *Model) memory() float64 {
	used := m.params.BaseMemory * m.params.Memory
	for _, c := range m.containers {
		if c.phase == Running {
			used += c.held
		}
	}
	return used
}

func (m *Model) burstGap() float64 {
	return m.daemons.ExpFloat64() * burstSeconds / m.params.Background
}

func (m *Model) find(id PodID) int {
	return slices.IndexFunc(m.containers, func(c *container) bool { return c.ID == id })
}
