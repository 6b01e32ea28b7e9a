package simnode

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// model is a node.Model by the clock: times instead of seconds, and UIDs instead
// of numbers. It is not safe for concurrent use.
type model struct {
	*node.Model
	start time.Time
	uids  map[node.PodID]string
	ids   map[string]node.PodID
	last  node.PodID
	// lives are the running pods. If measured is set, ended holds the last readings of the pods
	// that have ended, until they are read.
	lives    map[node.PodID]*life
	measured bool
	ended    []telemetry.PodReading
	// sleeping are the idle pods in order of arrival, which the node does not feel.
	sleeping []sleeper
	// transitions and running are scratch.
	transitions []node.Transition
	running     []node.PodID
}

func newModel(p Params, start time.Time) (*model, error) {
	if p.Overcommit == node.Evict {
		p.Overcommit = node.Kill // no container restarts here, and none is evicted
	}
	m, err := node.New(p)
	if err != nil {
		return nil, err
	}
	return &model{Model: m, start: start, uids: map[node.PodID]string{}, ids: map[string]node.PodID{}, lives: map[node.PodID]*life{}}, nil
}

// bind puts a pod on the node at the given time, or now if that has passed.
func (m *model) bind(at time.Time, p Pod) error {
	if err := p.validate(); err != nil {
		return err
	}
	if m.has(p.UID) {
		return fmt.Errorf("%w: %s", ErrDuplicatePod, p.UID)
	}
	if p.Idle {
		m.sleeping = append(m.sleeping, sleeperOf(m.wall(max(m.seconds(at), m.Model.Now())), p))
		return nil
	}
	m.last++
	err := m.Bind(max(m.seconds(at), 0), node.Pod{
		ID: m.last, Work: p.Work.Seconds(), Cores: p.Cores, Memory: p.Memory, Startup: p.Startup.Seconds(),
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBadPod, p.UID, err)
	}
	m.ids[p.UID], m.uids[m.last] = m.last, p.UID
	return nil
}

// kill removes a pod and reports whether it was there.
func (m *model) kill(uid string) bool {
	if i := m.sleeperAt(uid); i >= 0 {
		m.sleeping = slices.Delete(m.sleeping, i, i+1)
		return true
	}
	id, ok := m.ids[uid]
	if !ok {
		return false
	}
	m.forget(id)
	return m.Kill(id)
}

func (m *model) forget(id node.PodID) {
	delete(m.ids, m.uids[id])
	delete(m.uids, id)
	delete(m.lives, id)
}

// advanceTo runs the node until the given time and appends the transitions that
// happened, in order of time, to dst.
func (m *model) advanceTo(dst []Transition, to time.Time) []Transition {
	before := len(dst)
	m.transitions = m.AdvanceTo(m.transitions[:0], m.seconds(to))
	for _, t := range m.transitions {
		dst = append(dst, Transition{At: m.wall(t.At), UID: m.uids[t.Pod], Phase: t.Phase})
		switch t.Phase {
		case Running:
			m.lives[t.Pod] = &life{began: m.wall(t.At), due: readingAges[0]}
		case Succeeded, Failed:
			m.end(t)
			m.forget(t.Pod)
		}
	}
	if len(m.sleeping) > 0 {
		dst = m.sleep(dst, to)
		// Stable: what happened to one pod is in order already.
		slices.SortStableFunc(dst[before:], func(a, b Transition) int { return a.At.Compare(b.At) })
	}
	return dst
}

// nextChange is when the next pod changes its phase at the earliest; ok is false
// if none will.
func (m *model) nextChange() (at time.Time, ok bool) {
	if next, found := m.NextChange(); found {
		at, ok = m.wall(next), true
	}
	for _, s := range m.sleeping {
		if next, found := s.next(); found && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}

// Now returns the time the model has been advanced to.
func (m *model) Now() time.Time { return m.wall(m.Model.Now()) }

// Running appends the UIDs of the running pods to dst in order of arrival, those that
// sleep last.
func (m *model) Running(dst []string) []string {
	m.running = m.Model.Running(m.running[:0])
	for _, id := range m.running {
		dst = append(dst, m.uids[id])
	}
	for _, s := range m.sleeping {
		if s.phase == Running {
			dst = append(dst, s.uid)
		}
	}
	return dst
}

func (m *model) seconds(at time.Time) float64 { return at.Sub(m.start).Seconds() }

func (m *model) wall(seconds float64) time.Time {
	return m.start.Add(time.Duration(math.Round(seconds * 1e9)))
}

// sleeper is an idle pod on a node: it starts, sleeps and, if it is to, ends.
type sleeper struct {
	uid     string
	phase   Phase
	runs    time.Time
	sleeps  time.Duration
	forever bool
}

func sleeperOf(bound time.Time, p Pod) sleeper {
	sleeps, ends := p.alone()
	return sleeper{uid: p.UID, phase: Bound, runs: bound.Add(p.Startup), sleeps: sleeps, forever: !ends}
}

// next is when the pod enters its next phase; ok is false if it never will.
func (s sleeper) next() (at time.Time, ok bool) {
	if s.phase == Bound {
		return s.runs, true
	}
	return s.runs.Add(s.sleeps), !s.forever
}

// sleep lets the idle pods sleep until the given time and appends their transitions,
// in order for each pod, to dst.
func (m *model) sleep(dst []Transition, to time.Time) []Transition {
	for i := range m.sleeping {
		s := &m.sleeping[i]
		for s.phase != Succeeded {
			at, ok := s.next()
			if !ok || at.After(to) {
				break
			}
			if s.phase == Bound {
				dst = append(dst, Transition{At: at, UID: s.uid, Phase: starting})
				s.phase = Running
			} else {
				s.phase = Succeeded
			}
			dst = append(dst, Transition{At: at, UID: s.uid, Phase: s.phase})
		}
	}
	m.sleeping = slices.DeleteFunc(m.sleeping, func(s sleeper) bool { return s.phase == Succeeded })
	return dst
}

func (m *model) sleeperAt(uid string) int {
	return slices.IndexFunc(m.sleeping, func(s sleeper) bool { return s.uid == uid })
}

// has reports whether a pod is on the node.
func (m *model) has(uid string) bool {
	_, works := m.ids[uid]
	return works || m.sleeperAt(uid) >= 0
}

// PodUsage reads what the pods of a [Node] take, as telemetry.PodUsage reads it from the cgroups of a
// machine: at an age of 1, 2 and 5 s, then every 10 s, and once when a pod has ended. It leaves out
// idle pods, which take nothing, and pods that are deleted. It is safe for concurrent use.
type PodUsage struct{ node *Node }

// Usage returns the reader of the node's pods. A node has one: what one reader has read of the pods
// that ended is not there for another.
func (n *Node) Usage() *PodUsage {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.model.measured = true
	return &PodUsage{n}
}

// Observe does nothing: a node knows its pods.
func (*PodUsage) Observe(time.Time, []telemetry.Pod) {}

// ReadTo reads into dst the pods that are due. It never fails.
func (u *PodUsage) ReadTo(dst *telemetry.Usage, at time.Time) error {
	u.node.mu.Lock()
	defer u.node.mu.Unlock()
	u.node.advance(at)
	dst.At, dst.Failed, dst.Untracked = at, dst.Failed[:0], 0
	dst.Pods = u.node.model.readTo(dst.Pods[:0])
	return nil
}

// life is how far the readings of a running pod are.
type life struct {
	began time.Time
	due   time.Duration // the age at which it is read next
}

// readingAges are the ages of a pod's first readings; readingPeriod is the time between later ones.
var readingAges = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

const readingPeriod = 10 * time.Second

// nextReading returns the age at which a pod of some age is read next.
func nextReading(age time.Duration) time.Duration {
	for _, next := range readingAges {
		if next > age {
			return next
		}
	}
	return (age/readingPeriod + 1) * readingPeriod
}

// readTo appends the readings of the pods that have ended since the last call, and of the running
// pods that are due.
func (m *model) readTo(dst []telemetry.PodReading) []telemetry.PodReading {
	dst = append(dst, m.ended...)
	m.ended = m.ended[:0]
	m.running = m.Model.Running(m.running[:0])
	for _, id := range m.running {
		if l := m.lives[id]; m.Now().Sub(l.began) >= l.due {
			r := m.reading(id, m.Now())
			dst, l.due = append(dst, r), nextReading(r.Age)
		}
	}
	return dst
}

// end keeps the last reading of a pod that has just ended.
func (m *model) end(t node.Transition) {
	if !m.measured {
		return
	}
	r := m.reading(t.Pod, m.wall(t.At))
	if r.Ended = true; t.Phase == Failed {
		r.OOMKills = 1
	}
	m.ended = append(m.ended, r)
}

// reading returns what a pod has taken by a time that the model has reached.
func (m *model) reading(id node.PodID, at time.Time) telemetry.PodReading {
	used, _ := m.Usage(id) // the pod runs, or ended in the last advance
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return telemetry.PodReading{
		UID: m.uids[id], Age: at.Sub(m.lives[id].began),
		CPU: seconds(used.CPU), Stalled: seconds(used.Stalled), Pressure: true,
		Memory: uint64(used.Memory), MemoryPeak: uint64(used.Peak),
	}
}
