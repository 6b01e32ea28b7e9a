package sim

import (
	"slices"

	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// Kueue is kube-scheduler's default profile behind a queue as Kueue keeps it: one ClusterQueue
// of the strategy BestEffortFIFO, whose quota is what all nodes have for pods. A pod holds its
// requests of the quota from its admission until it has ended for good; a pod that requests
// nothing is admitted at once. The first created goes first, but one that does not fit in the
// quota lets those behind it pass. What an admission takes is the way of two messages.
type Kueue struct{}

// gate is a policy that decides when a created pod reaches the scheduler's queue.
type gate interface {
	hold(pod int32)
}

type kueuePolicy struct {
	scoring
	quota, used baseline.Resources
	waiting     []int32 // by creation
}

// Start implements Scheduler.
func (Kueue) Start(c *Cluster) (Policy, error) {
	p := &kueuePolicy{scoring: scoring{plain{c.run}, c.run.defaultScore}}
	for _, m := range c.run.nodes {
		p.quota = p.quota.Plus(m.allocatable)
	}
	return p, nil
}

func (p *kueuePolicy) hold(pod int32) {
	if !p.admit(pod) {
		p.waiting = append(p.waiting, pod)
	}
}

// admit reports whether the quota has room for the pod, and then lets it in.
func (p *kueuePolicy) admit(pod int32) bool {
	request := p.c.claims[pod].request
	used := p.used.Plus(request)
	if request.CPU > 0 && used.CPU > p.quota.CPU+1e-9 || request.Memory > 0 && used.Memory > p.quota.Memory {
		return false
	}
	p.used = used
	p.c.agenda.add(event{at: p.c.now + 2*p.c.Latency, kind: admitted, pod: pod})
	return true
}

func (p *kueuePolicy) handle(e event) { p.c.queue.push(e.pod, p.c.now) }

// gone gives back the quota of a pod that does not come again.
func (p *kueuePolicy) gone(_ *machine, pod int32) {
	if r := &p.c.records[pod]; p.c.pods[pod].On > 0 || r.Done < 0 && !r.GaveUp {
		return
	}
	p.used = p.used.Minus(p.c.claims[pod].request)
	p.waiting = slices.DeleteFunc(p.waiting, p.admit)
}
