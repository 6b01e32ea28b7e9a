package plugin

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// endedHistories is how many ended pods' histories are kept, of 120 bytes each.
	endedHistories = 1024
	// placedAttempts is how many placed pods' attempts are kept: a few minutes' worth in a busy
	// cluster.
	placedAttempts = 1024
)

// history holds when things happened to a pod, by the Hub's clock; 0 means never.
type history struct {
	first, last, reserved, bound, listed int64 // nanoseconds since 1970
	tries, lost, returned                uint32
	// ended is set once the pod is among those that ended last.
	ended bool
	// placed is the attempt in which the pod got its node, if it is among those placed last.
	placed  *Attempt
	refused [reserve.NoMemory + 1]refusedTries // by reason
}

type refusedTries struct{ tries, nodes uint32 }

// histories holds the histories of the pods that the API has and that have not ended, and of the
// endedHistories pods that ended last. Recording a step costs the same however many nodes and
// pods there are. Safe for concurrent use.
type histories struct {
	mu    sync.Mutex
	byPod map[reserve.PodKey]*history
	// ended are the pods that ended last, attempts those whose attempts are kept.
	ended, attempts ring[reserve.PodKey]
}

// note reads or edits a pod's history. A missing one is created only if made is set.
func (hs *histories) note(pod reserve.PodKey, made bool, edit func(*history)) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	e := hs.byPod[pod]
	if e == nil {
		if !made {
			return
		}
		e = &history{}
		hs.byPod[pod] = e
	}
	edit(e)
}

// tried records an attempt and the reasons for which nodes were refused in it.
func (hs *histories) tried(pod reserve.PodKey, at time.Time, t *refusalCounts) {
	now := at.UnixNano()
	hs.note(pod, true, func(e *history) {
		if e.last = now; e.first == 0 {
			e.first = now
		}
		e.tries++
		for reason, nodes := range t.byReason {
			if nodes > 0 {
				e.refused[reason].tries++
				e.refused[reason].nodes = uint32(nodes)
			}
		}
	})
}

func (hs *histories) lost(pod reserve.PodKey) {
	hs.note(pod, false, func(e *history) { e.lost++ })
}

func (hs *histories) reserved(pod reserve.PodKey, at time.Time) {
	hs.note(pod, true, func(e *history) { e.reserved = at.UnixNano() })
}

// placed keeps the attempt of a pod that was reserved.
func (hs *histories) placed(pod reserve.PodKey, a *Attempt) {
	hs.note(pod, true, func(e *history) {
		if e.placed == nil {
			if oldest, full := hs.attempts.push(pod, placedAttempts); full && hs.byPod[oldest] != nil {
				hs.byPod[oldest].placed = nil
			}
		}
		e.placed = a
	})
}

// returned records that the bind of a reservation failed.
func (hs *histories) returned(pod reserve.PodKey) {
	hs.note(pod, false, func(e *history) { e.reserved = 0; e.returned++ })
}

// bound records a bind that succeeded or that the API shows. news is set if the pod may be new
// here.
func (hs *histories) bound(pod reserve.PodKey, at time.Time, news bool) {
	hs.note(pod, news, func(e *history) {
		if e.bound == 0 {
			e.bound = at.UnixNano()
		}
	})
}

func (hs *histories) confirmed(pods []reserve.Confirmation, at time.Time) {
	for _, p := range pods {
		hs.note(p.Pod, false, func(e *history) {
			if e.listed != 0 {
				return // the pod is between two of its containers
			}
			if e.bound == 0 { // the node learned of the bind before the scheduler
				e.bound = at.UnixNano()
			}
			e.listed = max(at.UnixNano(), e.bound)
		})
	}
}

// end keeps the history of an ended pod among the last of those. It may be called again.
func (hs *histories) end(pod reserve.PodKey) {
	hs.note(pod, false, func(e *history) {
		if e.ended {
			return
		}
		e.ended = true
		if oldest, full := hs.ended.push(pod, endedHistories); full {
			delete(hs.byPod, oldest)
		}
	})
}

// forget drops the history of a pod that the API no longer has.
func (hs *histories) forget(pod reserve.PodKey) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	delete(hs.byPod, pod)
}

// find returns a copy of a pod's history, empty if nothing is known.
func (hs *histories) find(pod reserve.PodKey) (found history) {
	hs.note(pod, false, func(e *history) { found = *e })
	return found
}

// ring keeps the newest keys; the zero value is empty.
type ring[K any] struct {
	keys []K
	next int // the place of the oldest, once it is full
}

// push adds a key. If there are already most keys, it drops and returns the oldest.
func (r *ring[K]) push(key K, most int) (oldest K, full bool) {
	if len(r.keys) < most {
		r.keys = append(r.keys, key)
		return oldest, false
	}
	oldest, r.keys[r.next] = r.keys[r.next], key
	r.next = (r.next + 1) % most
	return oldest, true
}

// onNode returns the steps of a pod that has a node; lists reports whether the node lists the
// pod.
func (e *history) onNode(pod *v1.Pod, lists bool) (steps []Step) {
	node := pod.Spec.NodeName
	if e.bound != 0 {
		steps = append(steps, Step{Name: stepBound, Node: node, At: stamp(e.bound)})
	} else {
		steps = append(steps, inSeconds(stepBound, node, objects.ScheduledAt(pod)))
	}
	if e.listed != 0 {
		steps = append(steps, Step{Name: stepListed, Node: node, At: stamp(e.listed)})
	} else if lists {
		steps = append(steps, Step{Name: stepListed, Node: node})
	}
	return steps
}

func (e *history) export() *Tries {
	t := &Tries{Count: int(e.tries), Last: *stamp(e.last), Lost: int(e.lost), Returned: int(e.returned)}
	for _, reason := range reserve.Reasons() {
		if r := e.refused[reason]; r.tries > 0 {
			t.Refusals = append(t.Refusals, RefusalClass{Reason: reason.String(), Tries: int(r.tries), Nodes: int(r.nodes)})
		}
	}
	return t
}

func stamp(nanoseconds int64) *time.Time {
	at := time.Unix(0, nanoseconds)
	return &at
}

// inSeconds returns a step whose time comes from the API; the zero time means unknown.
func inSeconds(name, node string, at time.Time) Step {
	s := Step{Name: name, Node: node}
	if !at.IsZero() {
		s.At, s.WholeSeconds = &at, true
	}
	return s
}
