package plugin

import (
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/placement"
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
// for: none of its pods waits beside room, and some may be woken although they do not fit.
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

// reclass has the waiting pods of a workload ask for what is now known of it.
func (w *waiting) reclass(of profile.Workload, asks reserve.Demand) {
	w.lock()
	defer w.unlock()
	if k := w.byWorkload[of]; k != nil {
		w.setDemand(k, asks)
	}
}

// order returns what pods of the same priority are ordered by: their arrival. With ShortestFirst it
// is when they were created, which the API has in whole seconds: arrival breaks the ties.
func (w *waiting) order(p *waitingPod) int64 {
	if w.lives.isOn.Load() {
		return p.pod.CreationTimestamp.UnixNano() + p.arrival
	}
	return p.arrival
}

// delay returns how much later than they were created the pods of a workload count as created.
func (w *waiting) delay(workload int) time.Duration { return w.lives.delay(w.names[workload]) }

// leave no longer counts a pod of a workload.
func (d *demands) leave(of *workloadDemand) {
	if of.pods--; of.pods > 0 {
		return
	}
	d.classes[of.class].workloads--
	delete(d.byWorkload, of.workload)
	d.numbers.release(of.number)
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

// rooms is what the Queue asks of nodes, with the mutex of waiting held. It reads their newest views
// and takes no node's mutex.
type rooms struct{ *waiting }

// Slots implements placement.Rooms.
func (w rooms) Slots(id, of int, beside []int) int {
	n := w.nodes[id]
	if !n.inAPI.Load() {
		return 0
	}
	v := w.viewOf(n)
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
	return w.rules.places(n, w.viewOf(n), w.classes[of].asks, w.at)
}
