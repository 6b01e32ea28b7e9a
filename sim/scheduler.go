package sim

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Scheduler decides where pods go. Besides those of this package anything that
// implements it can be simulated; all share kube-scheduler's queue, its filters on
// requests and on the number of pods, and chance between equal scores. A Scheduler
// may be used in several runs concurrently, so Start must not change it.
type Scheduler interface {
	// Start returns the scheduler's part in a run on the given cluster.
	Start(*Cluster) (Policy, error)
}

// Policy is a scheduler's own part in a run: what it filters and scores by. Nodes and
// pods are numbers from 0, pods as in the workload. One goroutine
// makes all calls of a run.
//
// A policy may be a [Sampler], a [Binder] and an [Ender] besides. Run refuses one that has a
// method of their names with other arguments.
type Policy interface {
	// Admits reports whether the node may take the pod, beyond what every scheduler
	// checks. A pod that no node may take is tried again when another has ended, and
	// after [Cluster.Wake].
	Admits(node, pod int) bool
	// Score writes one score for each of the nodes to scores: the highest wins.
	Score(scores []float64, nodes []int, pod int)
}

// Sampler is a Policy that decides whether all nodes are looked at, not kube-scheduler's sample. It is
// called by one goroutine, as Policy is.
type Sampler interface{ EveryNode() bool }

// Binder is a Policy that is called, by the same goroutine, when a pod has been placed on a node.
type Binder interface{ Bound(node, pod int) }

// Ender is a Policy that is called, by the same goroutine, when the API shows that a pod has ended, or was killed.
type Ender interface{ Ended(node, pod int) }

// Cluster is what a scheduler may know of a run. It is for use within the calls of one
// Policy and of what it gave to Every, which one goroutine makes.
type Cluster struct{ run *cluster }

// Now is the time in seconds from the workload's start; below 0 in the warm-up.
func (c *Cluster) Now() float64 { return c.run.now - c.run.Warmup }

// Nodes is the number of nodes.
func (c *Cluster) Nodes() int { return len(c.run.nodes) }

// Capacity is what a node has.
func (c *Cluster) Capacity(node int) baseline.Resources { return c.run.nodes[node].capacity }

// Allocatable is what pods may request of a node.
func (c *Cluster) Allocatable(node int) baseline.Resources { return c.run.nodes[node].allocatable }

// Requested sums up the requests of the pods on a node.
func (c *Cluster) Requested(node int) baseline.Resources { return c.run.nodes[node].requested }

// PodsTo appends the pods on a node to dst, those included whose bind is on its way.
func (c *Cluster) PodsTo(dst []int, node int) []int {
	for _, pod := range c.run.nodes[node].assigned {
		dst = append(dst, int(pod))
	}
	return dst
}

// Declared is what a pod says of itself.
type Declared struct {
	Created        float64
	Request, Limit baseline.Resources
}

// Pod returns what a pod declares; what it will do is not for schedulers to know.
func (c *Cluster) Pod(pod int) Declared {
	p := &c.run.pods[pod]
	return Declared{p.Created, p.request(), p.Limit}
}

// DefaultScore is the sum of kube-scheduler's own scores of a node for a pod, 0 to
// 200.
func (c *Cluster) DefaultScore(node, pod int) float64 {
	return c.run.defaultScore(c.run.nodes[node], int32(pod))
}

// Usage is what was measured on a node by now: cumulative core-seconds and
// byte-seconds from the start of the warm-up, and the bytes in use.
type Usage struct{ CoreSeconds, ByteSeconds, Memory float64 }

// Usage measures a node.
func (c *Cluster) Usage(node int) Usage {
	m := c.run.nodes[node]
	c.run.advance(m)
	t := m.model.Totals()
	return Usage{t.Busy, t.ByteSeconds, m.model.Memory()}
}

// Read returns utilisation, waiting threads, pressure and memory of a node as an agent
// reads them, since the last call for the node; false if no time has passed.
func (c *Cluster) Read(on int) (node.Reading, bool) {
	m := c.run.nodes[on]
	c.run.advance(m)
	return m.model.Read()
}

// Every calls f after the given number of seconds, and then once a period for the rest
// of the run.
func (c *Cluster) Every(period, first float64, f func()) {
	c.run.timers = append(c.run.timers, timer{period, f})
	c.run.agenda.add(event{at: c.run.now + first, kind: timed, pod: int32(len(c.run.timers) - 1)})
}

// Wake has all refused pods tried again.
func (c *Cluster) Wake() { c.run.queue.shake(c.run.now) }

// Rand returns a generator for the scheduler's own chance, the same for the same seed
// and stream.
func (c *Cluster) Rand(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(c.run.Seed, streamOwn+stream))
}

// timer is what Every was asked for.
type timer struct {
	period float64
	f      func()
}

// plain is a policy that adds nothing to what every scheduler does; others embed
// it.
type plain struct{ c *cluster }

func (plain) start()                          {}
func (plain) Admits(int, int) bool            { return true }
func (plain) everyNode() bool                 { return false }
func (plain) bound(*machine, int32)           {}
func (plain) announced(*machine, int32)       {}
func (plain) gone(*machine, int32)            {}
func (plain) phase(*machine, node.Transition) {}
func (plain) withdrawn(int32)                 {}
func (plain) untainted(*machine)              {}
func (plain) refused(int32)                   {}
func (plain) retried(int32)                   {}
func (plain) wakes() bool                     { return false }
func (plain) handle(event)                    {}

// open is a policy of another package.
type open struct {
	Policy
	plain
	binder Binder
	ender  Ender
	every  bool
}

// newOpen returns a policy of another package, or a *field.Error where it has a method by the
// name of an optional one that is another.
func newOpen(p Policy, c *cluster) (*open, error) {
	sampler, samples := p.(Sampler)
	binder, binds := p.(Binder)
	ender, ends := p.(Ender)
	for _, m := range []struct {
		name, want string
		has        bool
	}{{"EveryNode", "EveryNode() bool", samples}, {"Bound", "Bound(node, pod int)", binds}, {"Ended", "Ended(node, pod int)", ends}} {
		if method, ok := reflect.TypeOf(p).MethodByName(m.name); ok && !m.has {
			return nil, refuse(fmt.Sprintf("%T.%s", p, m.name), method.Type, m.want)
		}
	}
	return &open{p, plain{c}, binder, ender, samples && sampler.EveryNode()}, nil
}

func (o *open) Admits(node, pod int) bool { return o.Policy.Admits(node, pod) }

func (o *open) everyNode() bool { return o.every }

func (o *open) bound(m *machine, pod int32) {
	if o.binder != nil {
		o.binder.Bound(int(m.index), int(pod))
	}
}

func (o *open) gone(m *machine, pod int32) {
	if o.ender != nil {
		o.ender.Ended(int(m.index), int(pod))
	}
}
