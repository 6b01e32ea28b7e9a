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
