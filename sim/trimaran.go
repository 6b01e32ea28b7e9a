package sim

import "github.com/spazio-scheduler/spazio/sim/baseline"

// TargetLoadPacking is Trimaran's plugin of that name in place of
// kube-scheduler's scores for resources, as its authors advise.
type TargetLoadPacking struct {
	// Target is T in percent; default 40.
	Target float64
	// Latest takes the newest scrape, and no deviation, in place of load-watcher's window.
	Latest bool
	// Refresh is the time in seconds from one reading to the next, both at load-watcher and
	// at the plugin; default their own, a minute and half a minute.
	Refresh float64
}

// Start implements Scheduler.
func (o TargetLoadPacking) Start(c *Cluster) (Policy, error) {
	setDefault(&o.Target, baseline.TargetUtilisation)
	return watching(c, o.Latest, o.Refresh, func(m *machine, seen *view, pod int32) float64 {
		expected := seen.cpu.Mean + c.run.predictedCPU(pod)
		for _, other := range m.assigned {
			if bound := c.run.records[other].Bound + c.run.Warmup; bound > seen.at || seen.at-bound < inFlightSpan {
				expected += c.run.predictedCPU(other)
			}
		}
		return float64(baseline.TargetLoadPacking(expected, m.capacity.CPU, o.Target))
	})
}

// inFlightSpan is how long TargetLoadPacking adds its guess for a pod to a
// measurement that cannot show it yet, in seconds.
const inFlightSpan = 60

func (s *cluster) predictedCPU(pod int32) float64 {
	return baseline.PredictedCPU(s.pods[pod].Request.CPU, s.pods[pod].Limit.CPU)
}

// LoadVariationRiskBalancing is Trimaran's plugin of that name beside
// kube-scheduler's scores, which it leaves as they are.
type LoadVariationRiskBalancing struct {
	// Latest and Refresh are those of TargetLoadPacking.
	Latest  bool
	Refresh float64
}

// Start implements Scheduler.
func (o LoadVariationRiskBalancing) Start(c *Cluster) (Policy, error) {
	return watching(c, o.Latest, o.Refresh, func(m *machine, seen *view, pod int32) float64 {
		score := baseline.LoadVariationRiskBalancing{}.Score(seen.cpu, seen.memory, c.run.pods[pod].request(), m.allocatable)
		return c.run.defaultScore(m, pod) + float64(score)
	})
}

// LowRiskOverCommitment is Trimaran's plugin of that name beside kube-scheduler's
// scores, which it leaves as they are.
type LowRiskOverCommitment struct {
	// Latest is that of TargetLoadPacking.
	Latest bool
}

// Start implements Scheduler.
func (o LowRiskOverCommitment) Start(c *Cluster) (Policy, error) {
	return watching(c, o.Latest, 0, func(m *machine, seen *view, pod int32) float64 {
		own := c.run.defaultScore(m, pod)
		request, limit := c.run.pods[pod].request(), c.run.pods[pod].Limit
		if none := (baseline.Resources{}); request == none && limit == none {
			return own
		}
		without := declared(m.requested, m.limits)
		with := declared(m.requested.Plus(request), m.limits.Plus(limit.Max(request)))
		return own + float64(baseline.LowRiskOverCommitment(seen.cpu, seen.memory, without, with, m.allocatable))
	})
}

func declared(request, limit baseline.Resources) [2]baseline.Declared {
	return [2]baseline.Declared{{Request: request.CPU, Limit: limit.CPU}, {Request: request.Memory, Limit: limit.Memory}}
}
