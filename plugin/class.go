package plugin

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// maxClasses bounds the kinds of waiting pods that are woken apart; all beyond share
// the last.
const maxClasses = 64

// class is a kind of waiting pods: those that ask the same of a node, which has room
// for all of them or for none. nil is that of typical pods, whose slots every node
// counts at any time.
type class struct {
	// asks is what its pods do. That of the last class, which is shared, is the least
	// that any of them asks for: none of them waits beside room, and some may be woken
	// in vain.
	asks   reserve.Demand
	shared bool
	// place is where nodes count for it.
	place int
	// slots is the sum over the nodes.
	slots atomic.Int64
}

// demand is what a pod of the class asks for.
func (c *class) demand() reserve.Demand {
	if c == nil {
		return podDemand
	}
	return c.asks
}

// classSlots are a node's for a class.
type classSlots struct {
	of    *class
	slots int
}

// classSlotsOf counts the pods of a class that a node lets in, as seen in v but for
// its flight.
func (r *rules) classSlotsOf(v *view, f reserve.Flight, c *class, at reserve.Moment) int {
	typical := func() int { return r.freshness.Slots(v.validity, at, v.Signal, f, podDemand, r.admit) }
	switch {
	case c == nil:
		return typical()
	case !c.shared:
		return r.freshness.Slots(v.validity, at, v.Signal, f, c.asks, r.admit)
	}
	// What is kept free for pods that are known, and the floor for those that are
	// not, are the two by which a pod that asks for more may have room before one
	// that asks for less.
	full := r.admit
	full.CPUFill = reserve.MaxCPUFill
	return max(typical(), r.freshness.Slots(v.validity, at, v.Signal, f, c.asks, full))
}

// recountClasses brings the slots of n, whose mutex is held, up to date for the given
// classes, and says whether it has gained any. Its view must be in place: a pod that
// begins to wait first enters its class and then looks at the nodes.
func (h *Hub) recountClasses(n *node, classes []*class, at reserve.Moment) (risen bool) {
	if len(classes) == 0 {
		return false
	}
	if n.classes == nil {
		n.classes = new([maxClasses]classSlots)
	}
	v := n.view.Load()
	for _, c := range classes {
		slots := 0
		if n.inAPI {
			slots = h.rules.classSlotsOf(v, v.Flight, c, at)
		}
		counted := &n.classes[c.place]
		if counted.of != c {
			*counted = classSlots{of: c}
		}
		risen = risen || slots > counted.slots
		c.slots.Add(int64(slots - counted.slots))
		counted.slots = slots
	}
	return risen
}

// reclass has the pods of a workload that wait ask for what is now known of it.
func (h *Hub) reclass(of profile.Workload, asks reserve.Demand) {
	c, moved := h.waiting.reclass(of, asks)
	if !moved {
		return
	}
	for _, n := range h.nodes.list().nodes {
		n.mu.Lock()
		risen := n.slots > 0
		if c != nil {
			risen = h.recountClasses(n, []*class{c}, h.moment())
		}
		n.mu.Unlock()
		if risen {
			h.waiting.rise(n)
		}
	}
}

// reclassAll does so for all workloads with pods that wait: what is known of them
// fades.
func (h *Hub) reclassAll() {
	if !h.rules.byDemand {
		return
	}
	for _, of := range h.waiting.workloads() {
		h.reclass(of, h.asks(h.toldOf(of)))
	}
}

// classes are those of the pods that wait. All but list are called with the mutex of
// waiting held.
type classes struct {
	places    [maxClasses]*class
	pods      [maxClasses]int
	byDemand  map[reserve.Demand]int
	published atomic.Pointer[[]*class]
}

// leastCores are nothing to any node.
const leastCores = 1e-9

// typicalClass is the place of the class that needs none.
const typicalClass = -1

// list returns the classes of which pods may wait. It must not be changed.
func (cs *classes) list() []*class {
	if list := cs.published.Load(); list != nil {
		return *list
	}
	return nil
}

// at returns the class at a place, nil for typical pods.
func (cs *classes) at(place int) *class {
	if place == typicalClass {
		return nil
	}
	return cs.places[place]
}

// join counts a pod in the class of its demand and returns the class's place.
func (cs *classes) join(d reserve.Demand) int {
	if d == podDemand {
		return typicalClass
	}
	place, known := cs.byDemand[d]
	if !known {
		place = cs.vacant()
		if c := cs.places[place]; place == maxClasses-1 {
			cs.put(cs.share(c, d))
		} else {
			if c != nil {
				delete(cs.byDemand, c.asks)
			}
			cs.put(&class{asks: d, place: place})
			if cs.byDemand == nil {
				cs.byDemand = make(map[reserve.Demand]int)
			}
			cs.byDemand[d] = place
		}
	}
	cs.pods[place]++
	return place
}

func (cs *classes) leave(place int) {
	if place != typicalClass {
		cs.pods[place]--
	}
}

// vacant returns a place that nobody has, or that of a class of which no pod waits
// any more; the last if there is none.
func (cs *classes) vacant() int {
	idle := maxClasses - 1
	for i, c := range cs.places[:maxClasses-1] {
		if c == nil {
			return i
		}
		if cs.pods[i] == 0 {
			idle = i
		}
	}
	return idle
}

// share returns the shared class that also has a demand.
func (cs *classes) share(c *class, d reserve.Demand) *class {
	if c == nil || cs.pods[c.place] == 0 {
		return &class{asks: d, place: maxClasses - 1, shared: true}
	}
	least := c.asks
	for i := range least.Amount {
		least.Typical[i] = math.Min(least.Typical[i], d.Typical[i])
		least.Amount[i] = math.Min(least.Amount[i], d.Amount[i])
		least.Var[i] = math.Min(least.Var[i], d.Var[i])
	}
	if least.Amount == [reserve.Resources]float64{} { // or it would be a part of a typical pod
		least.Amount[reserve.CPU] = leastCores
	}
	if least == c.asks {
		return c
	}
	return &class{asks: least, place: maxClasses - 1, shared: true}
}

// put places a class and publishes all.
func (cs *classes) put(c *class) {
	if cs.places[c.place] == c {
		return
	}
	cs.places[c.place] = c
	cs.publish()
}

// sweep forgets the classes of which no pod waits.
func (cs *classes) sweep() {
	swept := false
	for i, c := range cs.places {
		if c != nil && cs.pods[i] == 0 {
			if !c.shared {
				delete(cs.byDemand, c.asks)
			}
			cs.places[i], swept = nil, true
		}
	}
	if swept {
		cs.publish()
	}
}

func (cs *classes) publish() {
	list := slices.DeleteFunc(slices.Clone(cs.places[:]), func(c *class) bool { return c == nil })
	cs.published.Store(&list)
}
