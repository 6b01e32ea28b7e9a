package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

const (
	// LimitingPronto is Report.Limiting where Pronto's signal decides.
	LimitingPronto = "pronto"
	// Unbounded is the Avail of a node that does not say how many pods fit, only that
	// it takes them.
	Unbounded = 1e6
	// ProntoSchema ends the schema of the models that nodes with Config.Pronto push:
	// they are centred and mix with no others.
	ProntoSchema = ";signal=pronto"
)

// raised is a sample with which Pronto's signal reached its threshold.
type raised struct {
	At time.Time `json:"at"`
	// R is the signal and Flags the detectors' word on each direction.
	R     float64 `json:"r"`
	Flags []int8  `json:"flags"`
	// Direction is the first, and so the heaviest, of those flagged, counted from 0,
	// and Vector its parts, one a channel.
	Direction int       `json:"direction"`
	Vector    []float64 `json:"vector"`
}

func (r raised) clone() raised {
	r.Flags, r.Vector = slices.Clone(r.Flags), slices.Clone(r.Vector)
	return r
}

// rejection follows Pronto's signal. A nil one follows nothing.
type rejection struct {
	tracker *pronto.Tracker
	signal  pronto.Signal // of the newest sample
	last    raised        // zero before the first
}

// newRejection returns nil without a config.
func newRejection(c *pronto.Config) (*rejection, error) {
	if c == nil {
		return nil, nil
	}
	tracker, err := pronto.New(*c)
	if err != nil {
		return nil, fmt.Errorf("agent: Pronto: %w", err)
	}
	return &rejection{tracker: tracker}, nil
}

// cloneOf returns a config that shares nothing with c.
func cloneOf(c *pronto.Config) *pronto.Config {
	if c == nil {
		return nil
	}
	own := *c
	if i := own.Detector.Influence; i != nil {
		influence := *i
		own.Detector.Influence = &influence
	}
	return &own
}

// reset forgets what a sample would be held against, after a time without any.
func (r *rejection) reset() {
	if r != nil {
		r.tracker.Reset()
	}
}

// check refuses a sample that follow could not take.
func (r *rejection) check(at time.Time, y []float64) error {
	if r == nil {
		return nil
	}
	if err := r.tracker.Check(at, y); err != nil {
		return fmt.Errorf("agent: pronto: %w", err)
	}
	return nil
}

// follow has the rejection signal take a sample.
func (p *Pipeline) follow(at time.Time, y []float64) error {
	r := p.rejection
	if r == nil {
		return nil
	}
	if r.tracker.Adopted() && at.Sub(p.fleet.at) > p.config.FleetHalfLife {
		if err := r.tracker.Adopt(svd.Model{}); err != nil { // the node's own
			return fmt.Errorf("agent: pronto: %w", err)
		}
	}
	if err := r.tracker.StepTo(&r.signal, at, y); err != nil {
		return fmt.Errorf("agent: pronto: %w", err)
	}
	if j, ok := r.signal.Decided(); ok && r.signal.Raised {
		r.last.At, r.last.R, r.last.Direction = at, r.signal.R, j
		r.last.Flags = append(r.last.Flags[:0], r.signal.Flags...)
		r.last.Vector = r.tracker.VectorTo(r.last.Vector, j)
	}
	return nil
}

// adopt has samples projected on the fleet's directions.
func (p *Pipeline) adopt(m svd.Model) error {
	if p.config.OwnModel || m.Dim() == 0 {
		return nil
	}
	if err := p.rejection.tracker.Adopt(m); err != nil {
		return fmt.Errorf("agent: pronto: %w", err)
	}
	return nil
}

// relearn starts over on a machine that has changed.
func (r *rejection) relearn(c *pronto.Config) error {
	if r == nil {
		return nil
	}
	fresh, err := newRejection(c)
	if err == nil {
		*r = *fresh
	}
	return err
}

// decide puts the rejection signal in the place of the room.
func (r *rejection) decide(a capacity.Avail) capacity.Avail {
	if r == nil {
		return a
	}
	a.Pods, a.Allowance, a.Floored, a.Saturated = Unbounded, 0, false, false
	if r.signal.Reject {
		a.Pods = 0
	}
	return a
}

// modelSchema is that of the models that are pushed and adopted.
func (p *Pipeline) modelSchema() string {
	if p.rejection != nil {
		return p.config.Schema + ProntoSchema
	}
	return p.config.Schema
}

// WhyPronto is what the rejection signal was made of.
type WhyPronto struct {
	// R is the signal of the newest sample, which rejects at Threshold. Rejecting
	// reports that it has, with that sample or within Window before it.
	R         float64       `json:"r"`
	Threshold float64       `json:"threshold"`
	Window    time.Duration `json:"windowNanoseconds"`
	Rejecting bool          `json:"rejecting"`
	// Flags has the detectors' word on each direction of the newest sample, −1, 0 or
	// 1, Projection the sample in these directions and Sigma their weights; none
	// before the first block.
	Flags      []int8    `json:"flags"`
	Projection []float64 `json:"projection"`
	Sigma      []float64 `json:"sigma"`
	// Adopted reports that the directions are the fleet's.
	Adopted bool `json:"adopted"`
	// Last is the newest sample that raised a rejection, nil before the first.
	Last *raised `json:"last,omitempty"`
}

func (w *WhyPronto) clone() *WhyPronto {
	if w == nil {
		return nil
	}
	c := *w
	c.Flags, c.Projection, c.Sigma = slices.Clone(w.Flags), slices.Clone(w.Projection), slices.Clone(w.Sigma)
	if w.Last != nil {
		last := w.Last.clone()
		c.Last = &last
	}
	return &c
}

// rememberPronto keeps what the rejection followed from.
func (p *Pipeline) rememberPronto(w *Why) {
	r := p.rejection
	if r == nil {
		return
	}
	if w.Pronto == nil {
		w.Pronto = new(WhyPronto)
	}
	w.Mode = LimitingPronto
	c, to := p.config.Pronto, w.Pronto
	to.R, to.Rejecting, to.Window, to.Adopted = r.signal.R, r.signal.Reject, c.Window, r.tracker.Adopted()
	if to.Threshold = c.Reject; to.Threshold == 0 {
		to.Threshold = pronto.DefaultReject
	}
	to.Flags = append(to.Flags[:0], r.signal.Flags...)
	to.Projection = append(to.Projection[:0], r.signal.Projection...)
	to.Sigma = r.tracker.SigmaTo(to.Sigma)
	if !r.last.At.IsZero() {
		last := r.last.clone()
		to.Last = &last
	}
}

// prontoState is what a pipeline with Config.Pronto has learnt besides.
type prontoState struct {
	Tracker pronto.State
	// Signal is that of the newest sample, Last the newest that raised a rejection;
	// zero before any.
	Signal pronto.Signal
	Last   raised `json:",omitzero"`
}

func (r *rejection) state() *prontoState {
	if r == nil {
		return nil
	}
	s := &prontoState{Tracker: r.tracker.State(), Signal: r.signal, Last: r.last.clone()}
	s.Signal.Flags, s.Signal.Projection = slices.Clone(r.signal.Flags), slices.Clone(r.signal.Projection)
	return s
}

// restoreRejection takes up what s has. A state without is that of a node that has
// yet to follow the signal.
func (p *Pipeline) restoreRejection(s *prontoState) error {
	d := len(p.usage)
	switch {
	case s == nil:
		return nil
	case p.rejection == nil:
		return refuse("State.Pronto", "set", "the configuration has no Pronto")
	case s.Tracker.Dim != 0 && s.Tracker.Dim != d:
		return refuse("State.Pronto.Tracker.Dim", s.Tracker.Dim, "want %d", d)
	}
	tracker, err := pronto.FromState(*p.config.Pronto, s.Tracker)
	if err != nil {
		return fmt.Errorf("agent: State.Pronto: %w", err)
	}
	r := rejection{tracker: tracker, signal: s.Signal, last: s.Last.clone()}
	r.signal.Flags, r.signal.Projection = slices.Clone(s.Signal.Flags), slices.Clone(s.Signal.Projection)
	*p.rejection = r
	return nil
}
