package sim

import (
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

// OverProvision is Spazio with another allowance beside its own, for comparison: that of a
// draft of the thesis, which its final form has not. As TCP does with its window, a node
// that offers more than it has room for goes on raising that while its pods do not take
// longer, and halves it when they do: it sums up the squares of the run times of every
// provisionWindow pods that end; where the sum is at most provisionThreshold times the least of
// the windows before, the allowance grows by a pod.
type OverProvision struct{ Spazio }

const (
	provisionWindow    = 10
	provisionThreshold = 1.1
	// remembered is how many windows a new one is held against: against the last alone the
	// allowance would creep up without end.
	remembered = 10
)

// Start implements Scheduler.
func (o OverProvision) Start(c *Cluster) (Policy, error) {
	s, err := o.build(c.run)
	if err != nil {
		return nil, err
	}
	for i := range s.agents {
		s.agents[i].pipeline = &providingAgent{nodeAgent: s.agents[i].pipeline}
	}
	return s, nil
}

// providingAgent adds the allowance to what an agent offers.
type providingAgent struct {
	nodeAgent
	running   []runningPod
	allowance float64
	ended     int
	sum       float64 // of the squares of the window's run times
	sums      []float64
}

type runningPod struct {
	key   reserve.PodKey
	since time.Time
}

func (a *providingAgent) Sample(at time.Time, y []float64) (agent.Report, bool, error) {
	return a.revise(a.nodeAgent.Sample(at, y))
}

func (a *providingAgent) Pods(at time.Time, pods []agent.Pod) (agent.Report, bool, error) {
	still := a.running[:0:0]
	runs := make(map[reserve.PodKey]bool, len(pods))
	for _, p := range pods {
		runs[p.Key] = p.State == agent.PodRunning
	}
	for _, p := range a.running {
		if !runs[p.key] {
			a.end(at.Sub(p.since).Seconds())
			continue
		}
		still = append(still, p)
		delete(runs, p.key)
	}
	for _, p := range pods {
		if runs[p.Key] {
			still = append(still, runningPod{p.Key, at})
		}
	}
	a.running = still
	return a.revise(a.nodeAgent.Pods(at, pods))
}

// end takes a run time.
func (a *providingAgent) end(seconds float64) {
	a.sum += seconds * seconds
	if a.ended++; a.ended%provisionWindow != 0 {
		return
	}
	if len(a.sums) == 0 || a.sum <= provisionThreshold*slices.Min(a.sums) {
		a.allowance++
	} else {
		a.allowance /= 2
	}
	if a.sums = append(a.sums, a.sum); len(a.sums) > remembered {
		a.sums = a.sums[1:]
	}
	a.sum = 0
}

// revise adds the allowance to a report, unless a channel is full.
func (a *providingAgent) revise(r agent.Report, due bool, err error) (agent.Report, bool, error) {
	if due && err == nil && !r.Saturated {
		r.Avail += a.allowance
		r.Allowance += a.allowance
	}
	return r, due, err
}
