package simnode

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Errors of a Model; match them with errors.Is.
var (
	ErrDuplicatePod = errors.New("simnode: pod is on the node already")
	ErrBadPod       = errors.New("simnode: pod is not runnable")
)

// Pod is the work that one pod brings to a node.
type Pod struct {
	UID string
	// Work is the CPU time of its single thread.
	Work time.Duration
	// Memory in bytes, held while it runs.
	Memory float64
	// Startup is the time from the bind to the running state.
	Startup time.Duration
}

func (p Pod) validate() error {
	switch {
	case p.UID == "":
		return fmt.Errorf("%w: no UID", ErrBadPod)
	case p.Work < 0:
		return fmt.Errorf("%w: work %v", ErrBadPod, p.Work)
	case p.Memory < 0 || math.IsNaN(p.Memory) || math.IsInf(p.Memory, 0):
		return fmt.Errorf("%w: memory %v", ErrBadPod, p.Memory)
	case p.Startup < 0:
		return fmt.Errorf("%w: startup %v", ErrBadPod, p.Startup)
	}
	return nil
}

// Phase is where a pod is in its life.
type Phase int

// The phases of a pod in order.
const (
	Bound Phase = iota + 1
	Starting
	Running
	Succeeded
	Failed
	Killed
)

func (p Phase) String() string {
	names := [...]string{"", "Bound", "Starting", "Running", "Succeeded", "Failed", "Killed"}
	if p < 0 || int(p) >= len(names) {
		return fmt.Sprintf("Phase(%d)", int(p))
	}
	return names[p]
}

// Transition says that a pod entered a phase.
type Transition struct {
	At    time.Time
	UID   string
	Phase Phase
}

// container is a pod on the node. Times are seconds since the model's start.
type container struct {
	Pod
	phase          Phase
	spikeAt, runAt float64
	remaining      float64 // core-seconds
}

// Model is the contention model of one node, advanced in virtual time. It is
// not safe for concurrent use.
type Model struct {
	params Params
	start  time.Time
	now    float64 // seconds since start

	containers []*container // in order of arrival
	bursts     []float64    // core-seconds left of daemons, starts and stops
	nextBurst  float64

	busy, waited float64 // core-seconds and seconds since start
	read         counters

	daemons, noise *rand.Rand
}

// NewModel returns an empty node at virtual time start.
func NewModel(p Params, start time.Time) (*Model, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	m := &Model{
		params: p.withDefaults(),
		start:  start,
		// Streams of their own: reading a sample must not change the daemons.
		daemons: rand.New(rand.NewPCG(p.Seed, 1)),
		noise:   rand.New(rand.NewPCG(p.Seed, 2)),
	}
	m.nextBurst = m.burstGap()
	return m, nil
}

// Params returns the node's parameters, defaults filled in.
func (m *Model) Params() Params { return m.params }

// Now returns the time the model has been advanced to.
func (m *Model) Now() time.Time { return m.wall(m.now) }

// Bind puts a pod on the node at the given time, or now if that has passed.
func (m *Model) Bind(at time.Time, p Pod) error {
	if err := p.validate(); err != nil {
		return err
	}
	if m.find(p.UID) >= 0 {
		return fmt.Errorf("%w: %s", ErrDuplicatePod, p.UID)
	}
	bound := math.Max(m.now, m.seconds(at))
	run := bound + p.Startup.Seconds()
	m.containers = append(m.containers, &container{
		Pod:       p,
		phase:     Bound,
		runAt:     run,
		spikeAt:   math.Max(bound, run-m.params.StartWork.Seconds()),
		remaining: p.Work.Seconds(),
	})
	return nil
}

// Kill removes a pod at the model's present time and reports whether it was
// there.
func (m *Model) Kill(uid string) bool {
	i := m.find(uid)
	if i < 0 {
		return false
	}
	if m.containers[i].phase == Running {
		m.addBurst(m.params.StopWork.Seconds())
	}
	m.containers = append(m.containers[:i], m.containers[i+1:]...)
	return true
}

// AdvanceTo runs the node until the given time and appends the transitions that
// happened, in order of time, to dst. A time in the past changes nothing.
func (m *Model) AdvanceTo(dst []Transition, to time.Time) []Transition {
	end := m.seconds(to)
	for m.now < end {
		load := m.load()
		step := math.Min(end, m.nextChange(load)) - m.now
		m.run(load, step)
		dst = m.settle(dst)
	}
	return dst
}

// NextChange estimates when the next pod changes its phase if nothing else
// happens; ok is false on a node without pods. Daemons can only delay it.
func (m *Model) NextChange() (at time.Time, ok bool) {
	next := m.nextPodChange(m.load())
	if math.IsInf(next, 1) {
		return time.Time{}, false
	}
	return m.wall(next), true
}

// Running appends the UIDs of the running pods to dst in order of arrival.
func (m *Model) Running(dst []string) []string {
	for _, c := range m.containers {
		if c.phase == Running {
			dst = append(dst, c.UID)
		}
	}
	return dst
}

// load is what shares the cores at one moment.
type load struct {
	demand             float64 // cores wanted
	podRate, burstRate float64 // progress in core-seconds a second
}

func (m *Model) load() load {
	running := 0
	for _, c := range m.containers {
		if c.phase == Running {
			running++
		}
	}
	speed := 1.
	if m.memory() > m.params.Memory {
		// A swapping thread waits for its disk most of the time: it neither
		// works nor asks for a core.
		speed = 1 / m.params.Slowdown
	}
	demand := speed*float64(running) + float64(len(m.bursts))
	share := 1.
	if cores := float64(m.params.Cores); demand > cores {
		share = cores / demand
	}
	return load{demand: demand, podRate: speed * share, burstRate: share}
}

// nextChange returns the earliest time at which the load can change.
func (m *Model) nextChange(l load) float64 {
	next := math.Min(m.nextBurst, m.nextPodChange(l))
	for _, left := range m.bursts {
		next = math.Min(next, m.now+left/l.burstRate)
	}
	return next
}

func (m *Model) nextPodChange(l load) float64 {
	next := math.Inf(1)
	for _, c := range m.containers {
		switch c.phase {
		case Bound:
			next = math.Min(next, c.spikeAt)
		case Starting:
			next = math.Min(next, c.runAt)
		case Running:
			next = math.Min(next, m.now+c.remaining/l.podRate)
		}
	}
	return next
}

// run lets the load work for step seconds.
func (m *Model) run(l load, step float64) {
	cores := float64(m.params.Cores)
	m.busy += math.Min(l.demand, cores) * step
	if l.demand > cores {
		m.waited += step
	}
	for _, c := range m.containers {
		if c.phase == Running {
			c.remaining -= l.podRate * step
		}
	}
	for i := range m.bursts {
		m.bursts[i] -= l.burstRate * step
	}
	m.now += step
}

// settled is the span below which a change is due now. It stays above the
// resolution of a float64 for three years of virtual time, so that a step never
// rounds to nothing.
const settled = 1e-7

// settle applies every change that is due at the present time.
func (m *Model) settle(dst []Transition) []Transition {
	bursts := m.bursts[:0]
	for _, left := range m.bursts {
		if left > settled {
			bursts = append(bursts, left)
		}
	}
	m.bursts = bursts
	if m.nextBurst <= m.now+settled {
		m.addBurst(m.daemons.ExpFloat64() * m.params.Burst.Seconds())
		m.nextBurst = m.now + m.burstGap()
	}

	kept := m.containers[:0]
	for _, c := range m.containers {
		dst = m.settlePod(dst, c)
		if c.phase != Succeeded {
			kept = append(kept, c)
		}
	}
	clear(m.containers[len(kept):])
	m.containers = kept
	return dst
}

func (m *Model) settlePod(dst []Transition, c *container) []Transition {
	enter := func(p Phase) {
		c.phase = p
		dst = append(dst, Transition{At: m.Now(), UID: c.UID, Phase: p})
	}
	if c.phase == Bound && c.spikeAt <= m.now+settled {
		enter(Starting)
		m.addBurst(m.params.StartWork.Seconds())
	}
	if c.phase == Starting && c.runAt <= m.now+settled {
		enter(Running)
	}
	if c.phase == Running && c.remaining <= settled {
		enter(Succeeded)
		m.addBurst(m.params.StopWork.Seconds())
	}
	return dst
}

func (m *Model) addBurst(work float64) {
	if work > settled {
		m.bursts = append(m.bursts, work)
	}
}

func (m *Model) burstGap() float64 {
	return m.daemons.ExpFloat64() * m.params.Burst.Seconds() / m.params.Background
}

func (m *Model) find(uid string) int {
	for i, c := range m.containers {
		if c.UID == uid {
			return i
		}
	}
	return -1
}

func (m *Model) seconds(at time.Time) float64 { return at.Sub(m.start).Seconds() }

func (m *Model) wall(seconds float64) time.Time {
	return m.start.Add(time.Duration(math.Round(seconds * 1e9)))
}
