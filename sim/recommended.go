package sim

import (
	"math"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Recommended is kube-scheduler's default profile where a recommender writes what a pod
// requests when it is created, as a webhook does: what its preset recommends by what is
// known of the pod's workload by then, and nothing for an unknown workload.
type Recommended struct {
	Preset profile.Preset
	// Profiles configures how it learns; On, Delay and what concerns the ledger have no
	// effect. Known and Frozen make it clairvoyant.
	Profiles Profiles
}

// declarer is a policy that writes what pods declare.
type declarer interface {
	claim(pod int32) claim
}

type recommendedPolicy struct {
	scoring
	preset   profile.Preset
	profiler *profiler
	most     baseline.Resources
}

// Start implements Scheduler.
func (o Recommended) Start(c *Cluster) (Policy, error) {
	if err := o.Preset.Validate(); err != nil {
		return nil, err
	}
	if err := o.Profiles.validate(); err != nil {
		return nil, err
	}
	o.Profiles.Config = o.Profiles.Config.For(o.Preset)
	learns, err := newProfiler(c.run, o.Profiles)
	if err != nil {
		return nil, err
	}
	p := &recommendedPolicy{scoring{plain{c.run}, c.run.defaultScore}, o.Preset, learns, baseline.Resources{}}
	for _, m := range c.run.nodes {
		p.most = p.most.Max(m.allocatable)
	}
	return p, nil
}

func (p *recommendedPolicy) start()                              { p.profiler.start() }
func (p *recommendedPolicy) phase(m *machine, t node.Transition) { p.profiler.phase(m, t) }
func (p *recommendedPolicy) handle(e event)                      { p.profiler.handle(e) }

// request is no more than the largest node has: more would never run.
func (p *recommendedPolicy) request(pod int32) baseline.Resources {
	n := p.profiler.of[pod]
	if n < 0 {
		return baseline.Resources{}
	}
	all, err := p.profiler.workloads[n].profile.Recommend(at(p.c.now), p.preset, profile.Bounds{})
	p.c.fail(err)
	var sum baseline.Resources
	for _, r := range all {
		sum = sum.Plus(baseline.Resources{CPU: r.Target.CPU, Memory: r.Target.Memory})
	}
	return baseline.Resources{CPU: math.Min(sum.CPU, p.most.CPU), Memory: math.Min(sum.Memory, p.most.Memory)}
}

// bestEffort is the weight of a pod that requests nothing beside others that do: 2
// shares where a core is 1024.
const bestEffort = 2. / 1024

// claim is what a pod declares with the request that is recommended.
func (p *recommendedPolicy) claim(pod int32) claim {
	request, limit := p.request(pod), p.c.pods[pod].Limit
	c := claim{request, baseline.NonZero(request), limit.Max(request), bestEffort, qosOf(request, limit)}
	if request.CPU > 0 {
		c.weight = request.CPU
	}
	return c
}

// declare has a pod declare what the policy writes, if it does.
func (s *cluster) declare(pod int32) {
	if d, ok := s.policy.(declarer); ok {
		s.claims[pod] = d.claim(pod)
	}
}
