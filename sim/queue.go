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
	active        heap[queued]
	backoff       heap[backing]
	unschedulable map[int32]backing
	// key is what a QueueSort plugin orders pods by before anything else, nil for none.
	key func(pod int32) float64
}

// queued is a pod to be tried. Of pods of one priority that which was put back
// first goes first, of those put back at once that created first.
type queued struct {
	pod   int32
	key   float64 // as of when it was put here
	since float64 // its creation, or its last refusal
}

func (q queued) before(r queued) bool {
	if q.key != r.key {
		return q.key < r.key
	}
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

func (q *queue) push(pod int32, since float64) {
	q.active.push(q.keyed(queued{pod: pod, since: since}))
}

// keyed gives a pod that is about to be tried the key that it has now.
func (q *queue) keyed(w queued) queued {
	if q.key != nil {
		w.key = q.key(w.pod)
	}
	return w
}

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

// refuse keeps a pod that was refused so many times in a row.
func (q *queue) refuse(pod int32, refusals int, now float64) {
	pause := math.Min(firstBackoff*math.Exp2(float64(refusals-1)), lastBackoff)
	q.unschedulable[pod] = backing{queued{pod: pod, since: now}, windowOf(now + pause)}
}

// remove takes a pod out, wherever it is.
func (q *queue) remove(pod int32) {
	delete(q.unschedulable, pod)
	q.active = without(q.active, func(w queued) bool { return w.pod == pod })
	q.backoff = without(q.backoff, func(w backing) bool { return w.pod == pod })
}

// activate has a refused pod tried, back-off or not, unless it is to be tried anyway.
func (q *queue) activate(pod int32) {
	if w, ok := q.unschedulable[pod]; ok {
		q.active.push(q.keyed(w.queued))
		delete(q.unschedulable, pod)
	}
}

// shake has all refused pods tried again, those whose back-off is not over last.
func (q *queue) shake(now float64) {
	for _, w := range q.unschedulable {
		w.queued = q.keyed(w.queued)
		if w.window < windowOf(now) {
			q.active.push(w.queued)
		} else {
			q.backoff.push(w)
		}
	}
	clear(q.unschedulable)
}

// flush makes the pods active that were refused long ago, and calls retried with each.
func (q *queue) flush(now float64, retried func(pod int32)) {
	for pod, w := range q.unschedulable {
		if now-w.since >= flushAge {
			q.activate(pod)
			retried(pod)
		}
	}
}
