package slots

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// place is a slot of a testbed.
type place struct {
	testbed types.UID
	slot    slot.ID
}

// stage is how far a pod has come on its way into its slot.
type stage uint8

const (
	// reserved: a scheduling or binding cycle holds the slot for the pod.
	reserved stage = iota
	// swapping: the pod's bind has begun, and with it the end of the slot's placeholder.
	swapping
	// kept: the bind failed, and the slot is kept for the pod's next attempt.
	kept
	// settled: the API has the pod in the slot.
	settled
)

// run is an attempt of a BatchJob, whose pods share its slots.
type run struct{ job, attempt string }

func runOf(pod *v1.Pod) run { return run{pod.Labels[LabelBatchJobUID], pod.Labels[LabelAttempt]} }

// tenancy is a pod's hold on a slot.
type tenancy struct {
	place place
	stage stage
	run   run
	// emptied is when the slot's placeholder was gone, or zero if there was none.
	emptied time.Time
}

// placeholder is a pod that holds a slot's resources.
type placeholder struct {
	namespace, name string
	uid             types.UID
}

// table records which pods and placeholders are in which slots. Safe for concurrent use.
type table struct {
	mu      sync.RWMutex
	tenants map[types.UID]tenancy
	// holders of a place are more than one only if the API has several pods there.
	holders      map[place][]types.UID
	placeholders map[place][]placeholder
	// homes holds the placeholders' places.
	homes map[types.UID]place
	// gone is closed, and replaced, when a placeholder has gone.
	gone chan struct{}
	// frees counts the changes that may have made a place free.
	frees uint64
	// last is how far the run that was looked at last has filled its places.
	last atomic.Pointer[filled]
}

// filled records that the first n places of a run were taken when the table's frees had this
// value. Thousands of pods of one job come one after the other, and each takes the next place.
type filled struct {
	run   run
	first *place
	of, n int
	frees uint64
}

func newTable() *table {
	return &table{
		tenants: make(map[types.UID]tenancy), holders: make(map[place][]types.UID),
		placeholders: make(map[place][]placeholder), homes: make(map[types.UID]place), gone: make(chan struct{}),
	}
}

// tenancy returns a pod's hold on a slot.
func (t *table) tenancy(pod types.UID) (tenancy, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	held, ok := t.tenants[pod]
	return held, ok
}

// eachFree calls visit with the indices of the places that the pod, of the run, may have, in
// order and until visit returns false. It returns how many taken places it has seen. visit must
// not use the table.
func (t *table) eachFree(pod types.UID, of run, places []place, visit func(i int) bool) (taken int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	start := t.filledLocked(pod, of, places)
	taken = start
	for taken < len(places) && t.takenLocked(pod, of, places[taken]) {
		taken++
	}
	if taken > start {
		t.fillLocked(pod, of, places, taken)
	}
	for i := taken; i < len(places); i++ {
		switch {
		case t.takenLocked(pod, of, places[i]):
			taken++
		case !visit(i):
			return taken
		}
	}
	return taken
}

// filledLocked returns how many of the first places are known to be taken. For a pod that has a
// place it returns 0, because its own place does not count as taken.
func (t *table) filledLocked(pod types.UID, of run, places []place) int {
	last := t.last.Load()
	if _, has := t.tenants[pod]; has || last == nil || last.run != of || last.frees != t.frees || last.of != len(places) || last.first != &places[0] {
		return 0
	}
	return last.n
}

// fillLocked records that the first n places are taken, unless the pod has one of its own.
func (t *table) fillLocked(pod types.UID, of run, places []place, n int) {
	if _, has := t.tenants[pod]; !has {
		t.last.Store(&filled{run: of, first: &places[0], of: len(places), n: n, frees: t.frees})
	}
}

// takenLocked reports whether another pod has the place. A slot that is only kept for a pod of
// another run is free, because it no longer belongs to that run.
func (t *table) takenLocked(pod types.UID, of run, at place) bool {
	return slices.ContainsFunc(t.holders[at], func(uid types.UID) bool {
		held := t.tenants[uid]
		return uid != pod && (held.stage != kept || held.run == of)
	})
}

// occupied reports whether a pod is in the place or about to be. Meanwhile a placeholder may hold a
// place that is only kept for a pod's next attempt.
func (t *table) occupied(at place) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.ContainsFunc(t.holders[at], func(uid types.UID) bool { return t.tenants[uid].stage != kept })
}

// reserve gives the pod the place, unless another pod has it.
func (t *table) reserve(pod types.UID, of run, at place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.takenLocked(pod, of, at) {
		return false
	}
	for _, uid := range slices.Clone(t.holders[at]) {
		if uid != pod {
			t.removeLocked(uid) // it was kept for a pod of an earlier run
		}
	}
	held := tenancy{place: at, run: of}
	if before := t.tenants[pod]; before.place == at {
		held.emptied = before.emptied
	}
	t.putLocked(pod, held)
	return true
}

// swap records that the pod's bind begins, and returns the placeholders in its place.
func (t *table) swap(pod types.UID) (at place, placeholders []placeholder, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, ok := t.tenants[pod]
	if !ok {
		return place{}, nil, false
	}
	if held.stage == reserved {
		held.stage = swapping
		t.tenants[pod] = held
	}
	return held.place, slices.Clone(t.placeholders[held.place]), true
}

// emptied records that a placeholder of the pod's place is gone; ended is set if it was there until
// now.
func (t *table) emptied(pod types.UID, ended bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held, ok := t.tenants[pod]; ok && (ended || held.emptied.IsZero()) {
		held.emptied = now
		t.tenants[pod] = held
	}
}

// unreserve ends the pod's cycle. The pod keeps the place if its bind had begun and it still
// exists; there is called under the table's lock.
func (t *table) unreserve(pod types.UID, there func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, ok := t.tenants[pod]
	switch {
	case !ok || held.stage == settled:
	case held.stage == swapping && there():
		held.stage = kept
		t.tenants[pod] = held
		t.frees++
	default:
		t.removeLocked(pod)
	}
}

// settle records that the API has the pod in the place.
func (t *table) settle(pod types.UID, of run, at place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := tenancy{place: at, stage: settled, run: of}
	if before := t.tenants[pod]; before.place == at {
		held.emptied = before.emptied
	}
	t.putLocked(pod, held)
}

// remove forgets a pod, and returns what it held.
func (t *table) remove(pod types.UID) (held tenancy, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, ok = t.tenants[pod]
	t.removeLocked(pod)
	return held, ok
}

func (t *table) putLocked(pod types.UID, held tenancy) {
	if before, ok := t.tenants[pod]; !ok || before.place != held.place {
		t.removeLocked(pod)
		t.holders[held.place] = append(t.holders[held.place], pod)
	}
	t.tenants[pod] = held
}

func (t *table) removeLocked(pod types.UID) {
	held, ok := t.tenants[pod]
	if !ok {
		return
	}
	t.frees++
	delete(t.tenants, pod)
	drop(t.holders, held.place, func(uid types.UID) bool { return uid == pod })
}

// addPlaceholder records a placeholder that the API has.
func (t *table) addPlaceholder(g placeholder, at place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, ok := t.homes[g.uid]; ok {
		if before == at {
			return
		}
		t.removePlaceholderLocked(g.uid)
	}
	t.homes[g.uid] = at
	t.placeholders[at] = append(t.placeholders[at], g)
}

// removePlaceholder forgets a placeholder.
func (t *table) removePlaceholder(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removePlaceholderLocked(uid)
}

func (t *table) removePlaceholderLocked(uid types.UID) {
	at, ok := t.homes[uid]
	if !ok {
		return
	}
	delete(t.homes, uid)
	drop(t.placeholders, at, func(g placeholder) bool { return g.uid == uid })
	close(t.gone)
	t.gone = make(chan struct{})
}

// awaitGone returns when the placeholder has gone, or with the context's error.
func (t *table) awaitGone(ctx context.Context, uid types.UID) error {
	for {
		t.mu.RLock()
		_, there := t.homes[uid]
		changed := t.gone
		t.mu.RUnlock()
		if !there {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// drop removes the matching items from a place's list, and the place with its last one.
func drop[T any](lists map[place][]T, at place, is func(T) bool) {
	if lists[at] = slices.DeleteFunc(lists[at], is); len(lists[at]) == 0 {
		delete(lists, at)
	}
}
