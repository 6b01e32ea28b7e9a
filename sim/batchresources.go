package sim

import (
	"math"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// A node's batch resources are written where they differ by a tenth, or after some seconds.
const (
	batchDifference = .1
	batchAge        = 300
)

// batchPolicy is LoadAware with batch resources.
type batchPolicy struct {
	*loadAwarePolicy
	nodes []batchNode
	most  baseline.Resources // that a pod requests, so that it can run
}

// mostOfIdle is the share of an idle node's batch resources that a pod requests at most.
const mostOfIdle = .9

// batchNode is what batch pods may request of a node, as of a time, and what they do.
type batchNode struct {
	written                float64
	allocatable, requested baseline.Resources
}

// newBatchPolicy takes a node without any report yet as idle.
func newBatchPolicy(p *loadAwarePolicy) *batchPolicy {
	b := &batchPolicy{loadAwarePolicy: p, nodes: make([]batchNode, len(p.c.nodes))}
	for i, m := range p.c.nodes {
		none := baseline.Resources{}
		idle := baseline.BatchAllocatable(m.capacity, none, m.reserved(), none)
		b.nodes[i].allocatable = idle
		b.most = b.most.Max(baseline.Resources{CPU: mostOfIdle * idle.CPU, Memory: mostOfIdle * idle.Memory})
	}
	return b
}

// reserved is what the kubelet keeps.
func (m *machine) reserved() baseline.Resources { return m.capacity.Minus(m.allocatable) }

// claim is that of a batch pod to kube-scheduler and the kubelet.
func (p *batchPolicy) claim(pod int32) claim {
	of := &p.c.pods[pod]
	return claim{nonzero: baseline.NonZero(baseline.Resources{}), limit: of.Limit, weight: of.weight(), qos: node.BestEffort}
}

func (p *batchPolicy) handle(e event) {
	p.loadAwarePolicy.handle(e)
	m, n, seen := p.c.nodes[e.node], &p.nodes[e.node], &p.koordlets.seen[e.node]
	now := baseline.BatchAllocatable(m.capacity, seen.system, m.reserved(), seen.others)
	if p.c.now-n.written <= batchAge && near(now.CPU, n.allocatable.CPU) && near(now.Memory, n.allocatable.Memory) {
		return
	}
	n.allocatable, n.written = now, p.c.now
	p.c.queue.shake(p.c.now)
}

func near(now, before float64) bool { return math.Abs(now-before) <= batchDifference*before }

func (p *batchPolicy) bound(m *machine, pod int32) {
	p.loadAwarePolicy.bound(m, pod)
	p.count(m)
}

func (p *batchPolicy) gone(m *machine, pod int32) {
	p.loadAwarePolicy.gone(m, pod)
	p.count(m)
}

// count sums up what batch pods request of a node.
func (p *batchPolicy) count(m *machine) {
	var sum baseline.Resources
	for _, pod := range m.assigned {
		sum = sum.Plus(p.requests(pod))
	}
	p.nodes[m.index].requested = sum
}

// requests is what a pod requests of batch resources.
func (p *batchPolicy) requests(pod int32) baseline.Resources {
	if p.c.pods[pod].On > 0 {
		return baseline.Resources{}
	}
	r := p.c.pods[pod].request()
	return baseline.Resources{CPU: min(r.CPU, p.most.CPU), Memory: min(r.Memory, p.most.Memory)}
}

func (p *batchPolicy) Admits(node, pod int) bool {
	n, request := &p.nodes[node], p.requests(int32(pod))
	return (request.CPU == 0 || n.requested.CPU+request.CPU <= n.allocatable.CPU+1e-9) &&
		(request.Memory == 0 || n.requested.Memory+request.Memory <= n.allocatable.Memory)
}

func (p *batchPolicy) Score(scores []float64, nodes []int, pod int) {
	request := p.requests(int32(pod))
	for i, on := range nodes {
		m, n := p.c.nodes[on], &p.nodes[on]
		batch := n.allocatable
		if request.CPU == 0 {
			batch.CPU = 0
		}
		if request.Memory == 0 {
			batch.Memory = 0
		}
		fit := baseline.LeastAllocatedBatch(m.allocatable, m.nonzero.Plus(p.c.claims[pod].nonzero), batch, n.requested.Plus(request))
		scores[i] = p.score(m, int32(pod)) + float64(fit)
	}
}
