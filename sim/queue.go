package sim

import (
	"math"
	"slices"
)

// Timing of kube-scheduler's queue, its defaults in seconds.
const (
	firstBackoff = 1
	lastBackoff  = 10
	flushPeriod  = 30
	flushAge     = 300
)

// queue is kube-scheduler's: pods to be tried, oldest first, and pods that were
// refused and wait for an event.
type queue struct {
	active []int32 // a heap by number, which is the order of creation
	parked []waiting
	// epoch counts the rises of free slots; see waiting.tried.
	epoch int
}

// waiting is a refused pod.
type waiting struct {
	pod     int32
	since   float64
	backoff float64 // until when it may not be tried by a mere event
	tried   int     // the epoch of its last attempt
	moved   bool    // an event came during its back-off
}

func (q *queue) push(pod int32) {
	q.active = append(q.active, pod)
	i := len(q.active) - 1
	for i > 0 && q.active[(i-1)/2] > pod {
		q.active[i] = q.active[(i-1)/2]
		i = (i - 1) / 2
	}
	q.active[i] = pod
}

func (q *queue) pop() int32 {
	first, last := q.active[0], q.active[len(q.active)-1]
	q.active = q.active[:len(q.active)-1]
	if n := len(q.active); n > 0 {
		i := 0
		for {
			child := 2*i + 1
			if child >= n {
				break
			}
			if child+1 < n && q.active[child+1] < q.active[child] {
				child++
			}
			if q.active[child] >= last {
				break
			}
			q.active[i] = q.active[child]
			i = child
		}
		q.active[i] = last
	}
	return first
}

// park keeps a refused pod, oldest first.
func (q *queue) park(pod int32, attempts int, now float64) {
	pause := math.Min(firstBackoff*math.Exp2(float64(attempts-1)), lastBackoff)
	at, _ := q.find(pod)
	q.parked = slices.Insert(q.parked, at, waiting{pod: pod, since: now, backoff: now + pause, tried: q.epoch})
}

// find returns the place of a pod among the parked ones.
func (q *queue) find(pod int32) (int, bool) {
	return slices.BinarySearchFunc(q.parked, pod, func(w waiting, pod int32) int { return int(w.pod - pod) })
}

// wake makes up to n of the parked pods active that have not been tried since
// the last rise, oldest first, back-off or not.
func (q *queue) wake(n int) {
	kept := q.parked[:0]
	for _, w := range q.parked {
		if n > 0 && w.tried < q.epoch {
			q.push(w.pod)
			n--
		} else {
			kept = append(kept, w)
		}
	}
	q.parked = kept
}

// shake makes all parked pods active, but those in back-off, for which it calls
// later.
func (q *queue) shake(now float64, later func(pod int32, at float64)) {
	kept := q.parked[:0]
	for _, w := range q.parked {
		switch {
		case w.backoff <= now:
			q.push(w.pod)
			continue
		case !w.moved:
			w.moved = true
			later(w.pod, w.backoff)
		}
		kept = append(kept, w)
	}
	q.parked = kept
}

// release makes a parked pod active, if it is still there and its back-off over.
func (q *queue) release(pod int32, now float64) {
	if i, ok := q.find(pod); ok && q.parked[i].backoff <= now {
		q.parked = slices.Delete(q.parked, i, i+1)
		q.push(pod)
	}
}

// flush makes the pods active that have been parked for long.
func (q *queue) flush(now float64) {
	kept := q.parked[:0]
	for _, w := range q.parked {
		if now-w.since >= flushAge {
			q.push(w.pod)
		} else {
			kept = append(kept, w)
		}
	}
	q.parked = kept
}
