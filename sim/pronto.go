package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/svd"
)

// Metrics is what Pronto's trackers are fed with of a node's readings.
type Metrics uint8

const (
	// AgentMetrics are those of an agent: the CPU, its utilisation and contention half
	// and half, and the memory.
	AgentMetrics Metrics = iota
	// UtilisationMetrics are utilisation of the CPU and memory alone.
	UtilisationMetrics
	// EachMetric is all that a node shows, unmixed: utilisation, waiting threads,
	// pressure, memory.
	EachMetric
)

// appendTo appends the metrics of a reading to dst.
func (m Metrics) appendTo(dst []float64, r node.Reading) []float64 {
	switch m {
	case UtilisationMetrics:
		return append(dst, r.Utilisation, r.Memory)
	case EachMetric:
		return append(dst, r.Utilisation, r.Waiting, r.Pressure, r.Memory)
	}
	return append(dst, r.CPU(), r.Memory)
}

// Pronto is a rejection signal beside kube-scheduler's scores, which it leaves as they
// are: on each node a tracker of package pronto is fed with what an agent samples, and
// while it rejects the node takes no pod. Between nodes that do not reject, Pronto does
// not choose. Unlike Spazio it has no slow start: a pod that has not started shows in
// no metric.
type Pronto struct {
	Tracker pronto.Config
	Metrics Metrics
	// NoFleet leaves each node to its own model. Otherwise the models of all nodes are
	// merged once in Push seconds, by default 1, and each node adopts the result.
	NoFleet bool
	Push    float64
	// ByChance has a coin in the place of each tracker, which rejects as often as the
	// tracker has so far, sample by sample, and at any time.
	ByChance bool
}

// validate returns a *field.Error of this package or of package pronto.
func (o Pronto) validate() error {
	if o.Metrics > EachMetric {
		return refuse("Metrics", o.Metrics, "AgentMetrics, UtilisationMetrics or EachMetric")
	}
	if channels := len(o.Metrics.appendTo(nil, node.Reading{})); o.Tracker.Model.Rank > channels {
		return refuse("Tracker.Model.Rank", o.Tracker.Model.Rank, fmt.Sprintf("at most %d, the number of metrics", channels))
	}
	if o.Push != 0 {
		if err := positive("Push", o.Push); err != nil {
			return err
		}
	}
	return o.Tracker.Validate()
}

// prontoPolicy is the policy.
type prontoPolicy struct {
	scoring
	options Pronto
	nodes   []prontoNode
	rng     *rand.Rand
	y       []float64
}

// prontoNode is a node's tracker, and what the scheduler knows of it.
type prontoNode struct {
	tracker *pronto.Tracker
	signal  pronto.Signal
	// steps and rejections are those of the tracker.
	steps, rejections int
	said, rejects     bool // by the node; as the scheduler knows it
}

// Start implements Scheduler.
func (o Pronto) Start(c *Cluster) (Policy, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	setDefault(&o.Push, DefaultPush)
	p := &prontoPolicy{scoring: scoring{plain{c.run}, c.run.defaultScore}, options: o, rng: c.Rand(0), nodes: make([]prontoNode, c.Nodes())}
	for i := range p.nodes {
		var err error
		if p.nodes[i].tracker, err = pronto.New(o.Tracker); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *prontoPolicy) start() {
	if !p.options.NoFleet {
		p.c.agenda.add(event{at: p.options.Push, kind: measured})
	}
}

// sample gives a node's reading to its tracker, and sends the scheduler each change of its
// verdict.
func (p *prontoPolicy) sample(m *machine) {
	r, ok := m.model.Read()
	if !ok {
		return
	}
	n := &p.nodes[m.index]
	p.y = p.options.Metrics.appendTo(p.y[:0], r)
	if err := n.tracker.StepTo(&n.signal, at(p.c.now), p.y); err != nil {
		p.c.fail(err)
		return
	}
	if rejects := p.judge(n); rejects != n.said {
		n.said = rejects
		p.c.agenda.add(event{at: p.c.now + p.c.Latency, kind: reported, node: m.index, rejects: rejects})
	}
}

// judge is whether a node rejects after its last sample.
func (p *prontoPolicy) judge(n *prontoNode) bool {
	n.steps++
	if n.signal.Reject {
		n.rejections++
	}
	if p.options.ByChance {
		return p.rng.Float64()*float64(n.steps) < float64(n.rejections)
	}
	return n.signal.Reject
}

func (p *prontoPolicy) handle(e event) {
	switch e.kind {
	case measured:
		p.c.fail(p.federate())
		p.c.agenda.add(event{at: p.c.now + p.options.Push, kind: measured})
	case reported:
		if p.nodes[e.node].rejects = e.rejects; !e.rejects {
			p.c.queue.shake(p.c.now)
		}
	}
}

// federate merges the nodes' models, in the order of the nodes, and has each node take
// the result for its own.
func (p *prontoPolicy) federate() error {
	var fleet svd.Model
	for i := range p.nodes {
		var err error
		if fleet, err = svd.Merge(fleet, p.nodes[i].tracker.Model()); err != nil {
			return err
		}
	}
	for i := range p.nodes {
		if err := p.nodes[i].tracker.Adopt(fleet); err != nil {
			return err
		}
	}
	return nil
}

func (p *prontoPolicy) Admits(node, _ int) bool { return !p.nodes[node].rejects }
