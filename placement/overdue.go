package placement

import (
	"container/heap"
	"time"
)

// timer is when a pod is looked at again. Timers are not cancelled: what is due is decided anew.
type timer struct {
	at   time.Duration
	pod  int
	kind timerKind
}

func (t timer) isBefore(o timer) bool {
	if t.at != o.at {
		return t.at < o.at
	}
	return t.pod < o.pod
}

type timerKind uint8

const (
	pauseEnds timerKind = iota
	waitEnds
)

// maxTimers bounds how many timers one call handles; the next call handles the others.
const maxTimers = 1000

func (q *Queue) setTimer(at time.Duration, p *pod, kind timerKind) {
	heap.Push(&q.timers, timer{at, p.number, kind})
}

// StartWait notes that a pod was refused a node for want of room alone, and returns true if its wait
// for room begins with that and may end: [Queue.Advance] is to be called after Config.MaxWait. The
// wait ends when the pod is reserved a node, removed or EndWait is called.
func (q *Queue) StartWait(number int, now time.Duration) (begins bool) {
	p := q.pod(number)
	if p == nil || p.waits {
		return false
	}
	p.waits, p.since = true, now
	if p.group != nil {
		q.addIdle(p)
	}
	if q.config.MaxWait == 0 {
		return false
	}
	q.setTimer(now+q.config.MaxWait, p, waitEnds)
	return true
}

// EndWait notes that a pod was refused all nodes for other reasons than room.
func (q *Queue) EndWait(number int, now time.Duration) {
	p := q.pod(number)
	if p == nil || !p.waits {
		return
	}
	q.change(p, now, func() { p.waits, p.overdue = false, false })
}

// change changes what decides of a pod's group.
func (q *Queue) change(p *pod, now time.Duration, by func()) {
	if p.group == nil {
		by()
		return
	}
	set := p.group.set
	q.sets.hold(set) // or it could end with the group
	q.detach(p)
	by()
	q.attach(p, set, now)
	q.sets.release(set)
}

// IsOverdue reports whether a pod has waited for room for too long.
func (q *Queue) IsOverdue(number int) bool {
	p := q.pod(number)
	return p != nil && p.overdue
}

// MayExceed reports whether a pod may go to a node that has no room: it is overdue, and the node has
// a place for it.
func (q *Queue) MayExceed(number, node int) bool {
	if !q.IsOverdue(number) || !q.isPresent(node) {
		return false
	}
	if c := q.classOf(q.pods[number]); c.number != Typical {
		return q.rooms.Places(node, c.number) > 0
	}
	return q.nodes[node].places > 0
}

// Advance brings the Queue to a time. It is to be called when time has passed, before Round and the
// like, which do not see by themselves whose pause is over. Where every woken pod comes, it
// wakes pods that have become overdue, as many as there are places for such.
func (q *Queue) Advance(now time.Duration) {
	var ended []int
	for range maxTimers {
		if q.timers.Len() == 0 || q.timers.first().at > now {
			break
		}
		switch t := heap.Pop(&q.timers).(timer); t.kind {
		case pauseEnds:
			q.endPause(q.pod(t.pod), t.at, now)
		case waitEnds:
			ended = append(ended, t.pod)
		}
	}
	for _, number := range ended {
		q.endWait(q.pod(number), now)
	}
}

// endWait looks at a pod that may be overdue.
func (q *Queue) endWait(p *pod, now time.Duration) {
	if p != nil && p.waits && !p.overdue && p.since+q.config.MaxWait <= now {
		q.change(p, now, func() { p.overdue = true })
	}
	if !q.isImmediate() {
		return
	}
	q.wakeOverdue(now)
	if p != nil && p.group != nil && q.classOf(p).number != Typical {
		q.wakePod(p, now) // its places are not counted
	}
}

// Next returns when Advance has something to do next, and 0 if there is something for Round to do now.
// It returns false if there is nothing to do before something happens.
func (q *Queue) Next() (at time.Duration, ok bool) {
	if len(q.due) > 0 {
		return 0, true
	}
	return q.timers.first().at, q.timers.Len() > 0
}

// endPause looks at a pod whose pause or grant ends at a time. One that has another by now has a
// timer of its own for that.
func (q *Queue) endPause(p *pod, at, now time.Duration) {
	if p == nil || at != p.pause && (p.granted == noNode || at != p.until) {
		return
	}
	if p.granted != noNode && p.until <= now {
		q.release(p)
	}
	if p.group == nil {
		return
	}
	if p.pause <= now && (p.granted != noNode || p.always) {
		q.wakePod(p, now)
		return
	}
	q.settle(p, now)
}

// wakeOverdue wakes as many overdue pods as there are places.
func (q *Queue) wakeOverdue(now time.Duration) {
	left := q.places
	if left == 0 {
		return
	}
	in := contest{before: (*pod).isBefore, delay: q.config.Delay, head: (*group).firstOverdue}
	in.run(q.late, func(_ *group, p *pod) (done, stop bool) {
		q.wakePod(p, now)
		left--
		return false, left == 0
	})
}
