package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
)

// Scalar is Spazio with one estimator a node, on the room along u₁, in place of
// one a channel, as the thesis has it. It is for comparison: everything else is
// what the embedded Spazio says, and the agents' samples, filter, blocks, models
// and churn are the real ones.
type Scalar struct {
	Spazio
	// TypicalLoads has the estimator measure the room along u₁ by k itself, as the thesis does: its ruler
	// is the fleet's typical load, which changes with the load. Without, it is the headroom h = k·s, in
	// shares of the node.
	TypicalLoads bool
	// Literal keeps the thesis's reserved_n in place of the ledger: a pod counts
	// from its choice until the API shows it running, whether or not a report
	// has absorbed it. And agents learn of pods from container events alone, not from
	// binds.
	Literal bool
}

// Start implements Scheduler.
func (o Scalar) Start(c *Cluster) (Policy, error) {
	s, err := o.build(c.run)
	if err != nil {
		return nil, err
	}
	s.literal = o.Literal
	for i := range s.agents {
		s.agents[i].pipeline = &scalarAgent{nodeAgent: s.agents[i].pipeline, options: o, pods: c.Capacity(i).CPU}
	}
	return s, nil
}

// scalarAgent replaces what an agent offers by what one estimator makes of it.
type scalarAgent struct {
	nodeAgent
	options   Scalar
	pods      float64 // on an empty node, as far as is known before any
	estimator pipeline.Estimator
	own       []kalman.Estimate
	fleet     kalman.Fleet
}

func (a *scalarAgent) Sample(at time.Time, y []float64) (agent.Report, bool, error) {
	return a.revise(a.nodeAgent.Sample(at, y))
}

func (a *scalarAgent) Pods(at time.Time, pods []agent.Pod) (agent.Report, bool, error) {
	return a.revise(a.nodeAgent.Pods(at, pods))
}

// revise puts the scalar's availability into a report.
func (a *scalarAgent) revise(r agent.Report, due bool, err error) (agent.Report, bool, error) {
	if !due || err != nil {
		return r, due, err
	}
	why, _ := a.Why()
	z, err := a.signal(&r, &why)
	if err != nil {
		return r, false, err
	}
	if why.Trigger == agent.OnBlock {
		if err := a.learn(z, &why); err != nil {
			return r, false, err
		}
	}
	if a.estimator == nil {
		return r, true, nil // the first report stands
	}
	avail, err := a.avail(z, &r, &why)
	r.Avail, r.Allowance, r.Saturated = avail.Pods, avail.Allowance, avail.Saturated
	return r, err == nil, err
}

// signal is the room along u₁ as a share of the most there can be.
func (a *scalarAgent) signal(r *agent.Report, why *agent.Why) (float64, error) {
	if a.options.TypicalLoads {
		most := a.options.Agent.Signal.Max
		setDefault(&most, capacity.DefaultMax)
		return r.K / most, nil
	}
	y := make([]float64, len(r.Channels))
	for i, c := range r.Channels {
		y[i] = c.Usage
	}
	u := why.Model.Direction
	if len(u) == 0 {
		return 0, nil // before the first block
	}
	h, _, err := capacity.Headroom(y, u)
	return math.Min(h/math.Sqrt(float64(len(y))), 1), err
}

// learn takes a block's signal. The first is what PodsPerCore a core are worth.
func (a *scalarAgent) learn(z float64, why *agent.Why) error {
	if a.estimator == nil {
		perCore := a.options.Agent.PodsPerCore
		setDefault(&perCore, agent.DefaultPodsPerCore)
		c := a.options.Agent.Estimator
		c.Prior = math.Max(z/(a.pods*perCore), 1e-6)
		if a.options.TypicalLoads { // noise counts in the same ruler
			setDefault(&c.Noise, kalman.DefaultNoise)
			c.Noise *= z * z
		}
		var err error
		if a.estimator, err = c.Method.New(c.Config); err != nil {
			return fmt.Errorf("sim: scalar estimator: %w", err)
		}
	}
	err := a.estimator.Step(kalman.Observation{
		Headroom: []float64{z}, Pods: float64(why.Measured), Pause: why.Churn.Open,
	})
	a.own = a.estimator.EstimatesTo(a.own)
	return err
}

// avail counts in the measure of the fullest channel, so that saturation and
// floor mean what they do elsewhere.
func (a *scalarAgent) avail(z float64, r *agent.Report, why *agent.Why) (capacity.Avail, error) {
	top := 0.
	for _, c := range r.Channels {
		top = math.Max(top, c.Usage)
	}
	e := kalman.Pool(a.own[0], a.fleet, 0, 0)
	if !e.Started {
		e.Level, e.MeanPods = z, float64(why.Measured)
	}
	scale := 1.
	if z > 0 {
		scale = math.Max(1-top, 1e-9) / z
	} else {
		top = 1
	}
	channel := capacity.Channel{Usage: top, Capacity: e.Capacity() * scale, Cost: e.Cost * scale, CostSD: e.CostSD * scale}
	pods := capacity.Pods{Now: float64(why.Pods), Measured: float64(why.Measured)}
	o := a.options.Agent.Avail
	room := o.Rule.Room(channel.Room(pods, o.AvailOptions), why.Churn.Open)
	return capacity.AvailableIn([]capacity.Channel{channel}, []capacity.Room{room}, pods, o.AvailOptions)
}

// Local sends the one cost for every channel.
func (a *scalarAgent) Local() (agent.Local, bool) {
	l, ok := a.nodeAgent.Local()
	for i := range l.Costs {
		l.Costs[i] = agent.Cost{}
		if a.own != nil {
			l.Costs[i] = agent.Cost{Value: a.own[0].Cost, SD: a.own[0].CostSD, Known: a.own[0].Known}
		}
	}
	return l, ok
}

// SetFleet keeps the fleet's cost for the scalar.
func (a *scalarAgent) SetFleet(at time.Time, f agent.Fleet) error {
	a.fleet = kalman.Fleet{}
	if len(f.Costs) > 0 && f.Costs[0].Known {
		a.fleet = kalman.Fleet{Cost: f.Costs[0].Value, SD: f.Costs[0].SD}
	}
	f.Costs = nil
	return a.nodeAgent.SetFleet(at, f)
}
