package plugin

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// waiting knows the pods that have been tried and are not yet reserved, and
// wakes them when slots appear.
//
// Each rise of a node's slots begins a new epoch, after the new state became
// visible. A pod is recorded with the epoch read before its attempt looked at
// any node, so one recorded in the present epoch has seen every rise, and one
// recorded earlier may have missed some: it is a candidate, if the plugin
// refused it a node, or may yet do so because the attempt is running. Slots that rises
// opened and no Reserve has taken are the budget. A round activates as many
// candidates as the budget holds, highest priority first, and is repeated while
// both last: a pod that was in the middle of an attempt when it was activated
// has meanwhile come back to the queue, and one that was tried in vain (an
// affinity, a taint) is no candidate any more and leaves its turn to the next.
type waiting struct {
	epoch  atomic.Uint64
	budget atomic.Int64
	kick   chan struct{}
	// waits says whether the API still has a pod and it is unbound; set before
	// the first round.
	waits func(*v1.Pod) bool

	mu   sync.Mutex
	pods map[types.UID]*waitingPod
	seen uint64
	// current is the pod of the latest attempt. A scheduler tries its pods one
	// after the other, so all earlier attempts have ended.
	current types.UID
}

// maxWoken is how often a pod is activated without coming back to PreFilter
// before it loses its turn until the slow retry: something else holds it, and
// it must not hold up the others.
const maxWoken = 3

type waitingPod struct {
	pod      *v1.Pod
	handle   fwk.Handle
	priority int32
	// arrival orders pods of the same priority.
	arrival uint64
	// tried is the epoch of the last attempt, touched the time of the last
	// attempt or activation.
	tried   uint64
	touched time.Duration
	// latest is the last attempt.
	latest *attempt
	// woken counts activations since the last attempt.
	woken int
}

// attempt is what is remembered of a pod's last scheduling attempt; it holds on
// to none of the cycle's state. Safe for concurrent use.
type attempt struct {
	// refused is set once the plugin has refused the pod a node.
	refused atomic.Bool
	// narrowed is set if the attempt was shown the nodes with room alone.
	narrowed atomic.Bool
	saw      atomic.Pointer[sight]
}

// sight sums up the nodes as an attempt found them.
type sight struct {
	at          time.Time
	nodes, open int
	refusals    []Refusal
}

// content says that the attempt found room on every node: whatever becomes of it
// while it lasts, a rise can't have offered it more.
func (a *attempt) content() bool {
	s := a.saw.Load()
	return s != nil && s.open == s.nodes
}

// lost marks an attempt whose node changed before the pod was in flight to it.
func (a *attempt) lost() {
	a.refused.Store(true)
	a.narrowed.Store(false)
}

func newWaiting() *waiting {
	return &waiting{kick: make(chan struct{}, 1), pods: make(map[types.UID]*waitingPod)}
}

// attempt records that a pod is about to look at the nodes. handle is only used
// later, from the waker: a scheduler that runs PreFilter has been built, so its
// PodActivator is set, which it is not while New runs.
// It says whether the attempt before this one was in vain although nodes with
// room were named to the framework: then others than the plugin refused the
// pod, and whether the plugin would have must be found out node by node, or the
// pod would be woken for slots that it can't take again and again.
func (w *waiting) attempt(pod *v1.Pod, handle fwk.Handle, a *attempt, now time.Duration) (again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[pod.UID]
	if p == nil {
		w.seen++
		p = &waitingPod{arrival: w.seen}
		w.pods[pod.UID] = p
	} else {
		again = p.latest.narrowed.Load()
	}
	p.pod, p.handle, p.priority = pod, handle, priorityOf(pod)
	p.tried, p.touched = w.epoch.Load(), now
	p.latest, p.woken = a, 0
	w.current = pod.UID
	return again
}

func priorityOf(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// find returns the last attempt of a pod that waits, or nil.
func (w *waiting) find(uid types.UID) *attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		return p.latest
	}
	return nil
}

// drop forgets a pod that no longer waits.
func (w *waiting) drop(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pods, uid)
}

// taken accounts for a slot that a pod got.
func (w *waiting) taken(uid types.UID) {
	w.drop(uid)
	for {
		b := w.budget.Load()
		if b <= 0 || w.budget.CompareAndSwap(b, b-1) {
			return
		}
	}
}

// rise announces new slots. What opened them must be visible already.
func (w *waiting) rise(slots int) {
	w.epoch.Add(1)
	w.budget.Add(int64(slots))
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *waiting) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pods)
}

// round activates candidates for at most the budget, itself at most slots. It
// returns how many, 0 if none is left over, and whether some of them have not
// been activated since their last attempt.
func (w *waiting) round(ctx context.Context, slots int64, now time.Duration) (activated int, fresh bool) {
	for {
		budget := w.budget.Load()
		if room := min(budget, slots); room > 0 {
			chosen, ghosts := w.choose(int(room), now)
			if len(chosen) > 0 {
				activate(ctx, chosen)
				return len(chosen), slices.ContainsFunc(chosen, func(p *waitingPod) bool { return p.woken == 1 })
			}
			if ghosts {
				continue
			}
		}
		// Nobody wants what is left. If it has grown meanwhile, look again.
		if budget <= 0 || w.budget.CompareAndSwap(budget, 0) {
			return 0, false
		}
	}
}

// choose returns the first n candidates by priority and arrival, and whether it
// met any that the API no longer knows as waiting. Such a ghost is recorded
// when a pod is deleted just before its attempt.
func (w *waiting) choose(n int, now time.Duration) (top []*waitingPod, ghosts bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	epoch := w.epoch.Load()
	for uid, p := range w.pods {
		if p.tried >= epoch || p.woken >= maxWoken || !p.latest.refused.Load() && (uid != w.current || p.latest.content()) {
			continue
		}
		if len(w.pods) > n {
			top = insertTop(top, p, n)
		} else {
			top = append(top, p)
		}
	}
	alive := w.touch(top, now)
	return alive, len(alive) < len(top)
}

// overdue returns the refused pods neither tried nor activated for period.
func (w *waiting) overdue(period, now time.Duration) []*waitingPod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var late []*waitingPod
	for _, p := range w.pods {
		if now-p.touched >= period && p.latest.refused.Load() {
			late = append(late, p)
		}
	}
	return w.touch(late, now)
}

// touch marks pods as activated and returns copies of those that still wait,
// safe to read without the lock. It forgets the others.
func (w *waiting) touch(pods []*waitingPod, now time.Duration) []*waitingPod {
	alive := make([]*waitingPod, 0, len(pods))
	for _, p := range pods {
		if !w.waits(p.pod) {
			delete(w.pods, p.pod.UID)
			continue
		}
		p.touched = now
		p.woken++
		c := *p
		alive = append(alive, &c)
	}
	return alive
}

// insertTop keeps the first n of the candidates seen so far, in order.
func insertTop(top []*waitingPod, p *waitingPod, n int) []*waitingPod {
	if len(top) == n && comparePods(p, top[n-1]) > 0 {
		return top
	}
	at, _ := slices.BinarySearchFunc(top, p, comparePods)
	if len(top) == n {
		top = top[:n-1]
	}
	return slices.Insert(top, at, p)
}

// comparePods orders by priority, highest first, then by arrival.
func comparePods(a, b *waitingPod) int {
	switch {
	case a.priority != b.priority && a.priority > b.priority, a.priority == b.priority && a.arrival < b.arrival:
		return -1
	case a.priority == b.priority && a.arrival == b.arrival:
		return 0
	}
	return 1
}

// activate moves pods to the front of their scheduler's queue. The profiles of
// a scheduler share one queue, so any of the handles reaches it; grouping them
// keeps it one call for each.
func activate(ctx context.Context, pods []*waitingPod) {
	groups := make(map[fwk.Handle]map[string]*v1.Pod)
	for _, p := range pods {
		group := groups[p.handle]
		if group == nil {
			group = make(map[string]*v1.Pod)
			groups[p.handle] = group
		}
		group[string(p.pod.UID)] = p.pod
	}
	logger := klog.FromContext(ctx)
	for handle, group := range groups {
		handle.Activate(logger, group)
	}
}
