package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/plugin/internal/lives"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// maxClasses bounds the kinds of waiting pods that are woken apart. All beyond share the last.
	maxClasses  = 64
	sharedClass = maxClasses - 1
	// leastCores are nothing to any node.
	leastCores = 1e-9
)

// demands are what the waiting pods ask of a node, by workload. Pods of equal demand belong to one
// class of the Queue, which is an index of classes.
type demands struct {
	byWorkload map[profile.Workload]*workloadDemand
	names      []profile.Workload // by number
	numbers    numbers
	classes    [maxClasses]class
	byDemand   map[reserve.Demand]int
}

// workloadDemand is what the waiting pods of a workload have in common. It counts them.
type workloadDemand struct {
	workload            profile.Workload
	number, class, pods int
}

// class is a kind of waiting pods: those that ask the same of a node, which has room for all of them
// or for none. The demand of the last class, which several share, is the least that any of them asks
// for: none of its pods waits beside room, and some may be woken in vain.
type class struct {
	asks      reserve.Demand
	workloads int
}

func newDemands() demands {
	d := demands{byWorkload: make(map[profile.Workload]*workloadDemand), byDemand: make(map[reserve.Demand]int)}
	d.classes[placement.Typical] = class{asks: podDemand, workloads: 1} // for ever
	d.byDemand[podDemand] = placement.Typical
	return d
}

// join counts a pod of a workload, whose pods have a demand.
func (w *waiting) join(k kind) *workloadDemand {
	of := w.byWorkload[k.workload]
	if of == nil {
		of = &workloadDemand{workload: k.workload, number: w.demands.numbers.take()}
		w.names = grown(w.names, of.number)
		w.names[of.number] = k.workload
		w.classes[of.class].workloads++
		w.byWorkload[k.workload] = of
	}
	w.setDemand(of, k.asks)
	of.pods++
	return of
}

// leave no longer counts a pod of a workload.
func (d *demands) leave(of *workloadDemand) {
	if of.pods--; of.pods > 0 {
		return
	}
	d.classes[of.class].workloads--
	delete(d.byWorkload, of.workload)
	d.numbers.giveBack(of.number)
}

// setDemand has the pods of a workload ask for something. If that is new, so is all room to those of
// them that wait.
func (w *waiting) setDemand(of *workloadDemand, asks reserve.Demand) {
	before := of.class
	of.class = w.classFor(asks)
	w.classes[of.class].workloads++
	w.classes[before].workloads--
	w.queue.AddClass(of.class)
	w.queue.SetClass(of.number, of.class)
	if of.class != before && of.pods > 0 {
		w.queue.Recount(of.class, w.at.Now)
	}
}

// classFor returns the class of a demand, made if it is new.
func (w *waiting) classFor(asks reserve.Demand) int {
	if i, ok := w.byDemand[asks]; ok {
		return i
	}
	for i := placement.Typical + 1; i < sharedClass; i++ {
		if c := &w.classes[i]; c.workloads == 0 {
			delete(w.byDemand, c.asks)
			c.asks, w.byDemand[asks] = asks, i
			return i
		}
	}
	shared := &w.classes[sharedClass]
	least := asks
	if shared.workloads > 0 {
		least = leastOf(shared.asks, asks)
	}
	if least != shared.asks {
		shared.asks = least
		w.queue.Recount(sharedClass, w.at.Now)
	}
	return sharedClass
}

// leastOf is at most as much as either demand asks for.
func leastOf(a, b reserve.Demand) reserve.Demand {
	for i := range a.Amount {
		a.Typical[i] = math.Min(a.Typical[i], b.Typical[i])
		a.Amount[i] = math.Min(a.Amount[i], b.Amount[i])
		a.Var[i] = math.Min(a.Var[i], b.Var[i])
	}
	if a.Amount == [reserve.Resources]float64{} { // or it would be a part of a typical pod
		a.Amount[reserve.CPU] = leastCores
	}
	return a
}

// reclass has the waiting pods of a workload ask for what is now known of it.
func (w *waiting) reclass(of profile.Workload, asks reserve.Demand) {
	w.lock()
	defer w.unlock()
	if k := w.byWorkload[of]; k != nil {
		w.setDemand(k, asks)
	}
}

// reclassAll does so for all workloads: what is known of them fades.
func (h *Hub) reclassAll() {
	if !h.rules.byDemand {
		return
	}
	h.waiting.mu.Lock()
	workloads := make([]profile.Workload, 0, len(h.waiting.byWorkload))
	for of := range h.waiting.byWorkload {
		workloads = append(workloads, of)
	}
	h.waiting.mu.Unlock()
	for _, of := range workloads {
		h.waiting.reclass(of, h.asks(h.knowledgeOf(of)))
	}
}

// rooms is what the Queue asks of nodes, with the mutex of waiting held. It reads their newest views
// and takes no node's mutex.
type rooms struct{ *waiting }

// Slots implements placement.Rooms.
func (w rooms) Slots(id, of int, beside []int) int {
	n := w.nodes[id]
	if !n.inAPI.Load() {
		return 0
	}
	v := n.view.Load()
	flight := v.Flight
	for _, other := range beside {
		flight = flight.With(1, w.classes[other].asks)
	}
	asks := w.classes[of].asks
	if of != sharedClass {
		return w.rules.slotsBeside(v, flight, asks, w.rules.admit, w.at)
	}
	// What is kept free for pods that are known, and the floor for those that are not, are the two
	// by which a pod that asks for more may have room before one that asks for less.
	full := w.rules.admit
	full.CPUDemandPerCore = reserve.MaxCPUDemandPerCore
	return max(w.rules.slotsBeside(v, flight, podDemand, w.rules.admit, w.at), w.rules.slotsBeside(v, flight, asks, full, w.at))
}

// Places implements placement.Rooms.
func (w rooms) Places(id, of int) int {
	n := w.nodes[id]
	if !n.inAPI.Load() {
		return 0
	}
	return w.rules.places(n, n.view.Load(), w.classes[of].asks, w.at)
}

// refusedNodes are the nodes that the plugin alone refuses a pod while its attempt goes on. Any other
// node either refused the pod for a reason of its own, in which case the queueing hints of the plugin
// that did so wake it, or was tried in vain. The plugin's Filter runs after those of the default
// plugins, so a node that it is asked about has passed them all. Safe for concurrent use.
type refusedNodes struct {
	words []atomic.Uint64 // one bit a node, by its id
	added atomic.Int64    // how many
}

const wordBits = 64

// newRefusedNodes returns an empty set of nodes whose ids are below limit.
func newRefusedNodes(limit int) *refusedNodes {
	return &refusedNodes{words: make([]atomic.Uint64, (limit+wordBits-1)/wordBits)}
}

// add puts a node into the set. Nodes that joined after the attempt began belong to it anyway.
func (r *refusedNodes) add(id int) {
	if id/wordBits >= len(r.words) {
		return
	}
	bit := uint64(1) << (id % wordBits)
	if r.words[id/wordBits].Or(bit)&bit == 0 {
		r.added.Add(1)
	}
}

// waitSet returns the set as it is now, with the nodes whose ids are beyond it.
func (r *refusedNodes) waitSet() placement.WaitSet {
	set := placement.EveryNode()
	for i := range r.words {
		for out := ^r.words[i].Load(); out != 0; out &= out - 1 {
			set.Remove(i*wordBits + bits.TrailingZeros64(out))
		}
	}
	return set
}

// tainted knows the nodes that have taints. Safe for concurrent use; the zero
// value is ready.
type tainted struct {
	mu     sync.Mutex
	byNode map[*node][]v1.Taint
}

// set notes a node's taints and reports whether it lost any.
func (t *tainted) set(n *node, taints []v1.Taint) (lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.byNode[n]
	if slices.Equal(before, taints) {
		return false
	}
	if t.byNode == nil {
		t.byNode = make(map[*node][]v1.Taint)
	}
	if t.byNode[n] = taints; len(taints) == 0 {
		delete(t.byNode, n)
	}
	return slices.ContainsFunc(before, func(taint v1.Taint) bool { return !slices.Contains(taints, taint) })
}

// exclude takes the nodes out of a set whose taints the pod does not tolerate.
func (t *tainted) exclude(set *placement.WaitSet, pod *v1.Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, taints := range t.byNode {
		if slices.ContainsFunc(taints, func(taint v1.Taint) bool { return !podstate.Tolerates(pod, &taint) }) {
			set.Remove(n.id)
		}
	}
}

// ShortestFirst is the name of a queue sort plugin in a KubeSchedulerConfiguration. It tries the
// pods of the highest priority first and, of these, those of workloads whose pods live for less. All
// profiles of a scheduler share one queue, so all of them have to enable the same queue sort plugin.
const ShortestFirst = "ShortestFirst"

var errNoArgs = errors.New("it takes no arguments")

// NewShortestFirst makes the plugin ShortestFirst of one profile; it is a PluginFactory. The first
// call begins to follow the pods' ends, through the handle's informers. The pods that nodes have
// anyway do not count.
func (h *Hub) NewShortestFirst(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if args != nil {
		return nil, fmt.Errorf("plugin: %s: %w", ShortestFirst, errNoArgs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p, err := h.lives.Plugin(lives.Config{
		Name: ShortestFirst, Workload: h.workloads.identify, Now: h.clock,
		Counts: func(pod *v1.Pod) bool { return !podstate.IsNodeOwned(pod) && !h.Placeholder(pod.UID) },
	}, handle.SharedInformerFactory().Core().V1().Pods())
	if err != nil {
		return nil, fmt.Errorf("plugin: %s: follow pods: %w", ShortestFirst, err)
	}
	return p, nil
}

// order returns what pods of the same priority are ordered by: their arrival. With ShortestFirst it
// is when they were created, which the API has in whole seconds: arrival breaks the ties.
func (w *waiting) order(p *waitingPod) int64 {
	if w.lives.IsOn() {
		return p.pod.CreationTimestamp.UnixNano() + p.arrival
	}
	return p.arrival
}

// delay returns how much later than they were created the pods of a workload count as created.
func (w *waiting) delay(workload int) time.Duration { return w.lives.Delay(w.names[workload]) }
