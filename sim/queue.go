package sim

import "math"

// Timing of kube-scheduler's queue, its defaults in seconds.
const (
	firstBackoff = 1
	lastBackoff  = 10
	flushPeriod  = 30
	flushAge     = 300
	// backoffWindow is the resolution of back-offs.
	backoffWindow = 1
)

// queue is kube-scheduler's: pods to be tried, pods that an event has moved but whose
// back-off is not over, and pods that were refused and wait for an event. A pod in
// back-off is tried when no other is to be (SchedulerPopFromBackoffQ).
type queue struct {
	active  heap[queued]
	backoff heap[backing]
	parked  parking
	// epoch counts the rises of free slots; see waiting.tried.
	epoch int
}

// queued is a pod to be tried. Of pods of one priority that which was put back
// first goes first, of those put back at once that created first.
type queued struct {
	pod   int32
	since float64 // its creation, or its last refusal
}

func (q queued) before(r queued) bool {
	return q.since < r.since || q.since == r.since && q.pod < r.pod
}

// backing is a pod in back-off, until the end of a window.
type backing struct {
	queued
	window float64
}

func (b backing) before(c backing) bool {
	return b.window < c.window || b.window == c.window && b.queued.before(c.queued)
}

// waiting is a refused pod.
type waiting struct {
	queued
	window float64 // of the end of its back-off
	tried  int     // the epoch of its last attempt
}

func (q *queue) push(pod int32, since float64) { q.active.push(queued{pod, since}) }

// pop returns the pod that is next, if there is one.
func (q *queue) pop(now float64) (int32, bool) {
	for len(q.backoff) > 0 && q.backoff[0].window < windowOf(now) {
		q.active.push(q.backoff.pop().queued)
	}
	switch {
	case len(q.active) > 0:
		return q.active.pop().pod, true
	case len(q.backoff) > 0:
		return q.backoff.pop().pod, true
	}
	return 0, false
}

func windowOf(at float64) float64 { return math.Floor(at / backoffWindow) }

// park keeps a pod that was refused so many times in a row, oldest first.
func (q *queue) park(pod int32, refusals int, now float64) {
	pause := math.Min(firstBackoff*math.Exp2(float64(refusals-1)), lastBackoff)
	q.parked.add(waiting{queued{pod, now}, windowOf(now + pause), q.epoch})
}

// wake makes up to n of the parked pods active that the given kind of room is for and
// that have not been tried since its last rise, oldest first, back-off or not. It
// returns how many.
func (q *queue) wake(n int, rose int, kind func(pod int32) bool) (woken int) {
	for w := range q.parked.all() {
		if woken >= n {
			break
		}
		if w.tried >= rose || !kind(w.pod) {
			continue
		}
		woken++
		q.activate(w)
	}
	return woken
}

// activate has a parked pod tried.
func (q *queue) activate(w *waiting) {
	q.active.push(w.queued)
	q.parked.remove(w.pod)
}

// rouse makes up to n of the parked pods active that are chosen, oldest first.
func (q *queue) rouse(n int, chosen func(pod int32) bool) {
	if n == 0 {
		return
	}
	for w := range q.parked.all() {
		if !chosen(w.pod) {
			continue
		}
		q.activate(w)
		if n--; n == 0 {
			return
		}
	}
}

// shake has all parked pods tried again, those whose back-off is not over last.
func (q *queue) shake(now float64) {
	for w := range q.parked.all() {
		if w.window < windowOf(now) {
			q.activate(w)
		} else {
			q.backoff.push(backing{w.queued, w.window})
			q.parked.remove(w.pod)
		}
	}
}

// flush makes the pods active that have been parked for long.
func (q *queue) flush(now float64) {
	for w := range q.parked.all() {
		if now-w.since >= flushAge {
			q.activate(w)
		}
	}
}
