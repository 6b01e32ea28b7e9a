package simnode

import (
	"slices"
	"time"
)

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
