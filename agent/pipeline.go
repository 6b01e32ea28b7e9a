package agent

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/filter"
	"github.com/spazio-scheduler/spazio/internal/pipeline"
	"github.com/spazio-scheduler/spazio/kalman"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/svd"
)

// Pipeline is the state of one node's agent. It is not safe for concurrent use:
// one goroutine owns it and passes the time to every call. Only differences of
// times count, so they should come from a steady clock. One that is to be
// recorded gets times without a monotonic reading (package recording).
type Pipeline struct {
	config Config // without zero fields
	given  Config

	raw   []float64 // y as sampled
	bank  *filter.Bank
	usage []float64 // y after the filter
	at    time.Time // of the newest sample; zero before the first

	block     [][]float64
	filled    int
	blocks    uint64 // full blocks so far
	model     svd.Model
	effective svd.Model
	workspace svd.Workspace
	demand    []float64 // q of the effective model
	fleet     fleetView
	blended   float64 // γ of the effective model

	estimator pipeline.Estimator
	headroom  []float64
	own       []kalman.Estimate // before pooling
	verdicts  []kalman.Verdict
	tested    []kalman.Innovation
	channels  []capacity.Channel
	room      []capacity.Room // of the channels
	costKnown []bool

	pods         podLog
	placeholders placeholderLog
	// loads and taken are what kalman.Observation gets of known pods.
	loads, taken   []float64
	mispredictions []madeMisprediction
	churn          churnWindow
	pace           paceLog
	slots          float64    // that the last allowance is for
	rejection      *rejection // nil unless Config.Pronto is set

	power     *powerState   // nil until power was measured
	powerTold reportedPower // of the last report

	sequence uint64
	pacer    pacer
	reported float64 // avail of the last report
	pending  bool    // the pods changed since the last report
	why      Why     // of the last report
}

// New returns a Pipeline that has seen nothing. It returns the error of
// Config.Validate.
func New(c Config) (*Pipeline, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	given := c
	given.Channels, given.Pronto = slices.Clone(c.Channels), cloneOf(c.Pronto)
	c = given.withDefaults()
	d := len(c.Channels)
	bank, err := filter.NewBank(d, c.Filter)
	if err != nil {
		return nil, fmt.Errorf("agent: filter: %w", err)
	}
	configs := make([]kalman.Config, d)
	for i, ch := range c.Channels {
		configs[i] = c.estimator(ch)
	}
	estimator, err := c.Estimator.Method.New(configs...)
	if err != nil {
		return nil, fmt.Errorf("agent: estimator: %w", err)
	}
	p := &Pipeline{
		config: c, given: given, bank: bank, estimator: estimator,
		usage: make([]float64, d), demand: make([]float64, d), headroom: make([]float64, d),
		raw: make([]float64, d), loads: make([]float64, d), taken: make([]float64, d),
		own: estimator.EstimatesTo(nil), verdicts: estimator.VerdictsTo(nil), tested: estimator.InnovationsTo(nil),
		channels: make([]capacity.Channel, d), room: make([]capacity.Room, d), costKnown: make([]bool, d),
		why:   Why{Channels: make([]WhyChannel, d), Model: WhyModel{Direction: make([]float64, 0, d)}},
		block: make([][]float64, c.Model.Block),
		pace:  paceLog{lead: c.InitLead},
		pacer: pacer{interval: c.MinInterval},
	}
	for i := range p.block {
		p.block[i] = make([]float64, d)
	}
	if p.rejection, err = newRejection(c.Pronto); err != nil {
		return nil, err
	}
	return p, nil
}

// Sample takes the usage y ∈ [0, 1]^d measured at the given time, which must be
// after the last. It returns a report where one is due. A bad sample is an
// error that names the field; it changes nothing.
func (p *Pipeline) Sample(at time.Time, y []float64) (Report, bool, error) {
	at = at.UTC() // so that a state reads the same wherever it was stored
	if err := p.check(at, y); err != nil {
		return Report{}, false, err
	}
	if p.stale(at) { // what came before does not show what comes now
		p.bank.Reset()
		p.filled = 0
		p.rejection.reset()
	}
	if err := p.follow(at, y); err != nil {
		return Report{}, false, err
	}
	if _, err := p.bank.StepTo(p.usage, y); err != nil {
		return Report{}, false, fmt.Errorf("agent: filter: %w", err)
	}
	p.at = at
	p.pace.advance(at, p.config.PaceHalfLife)
	if p.pods.held > 0 {
		p.recount(at)
	}
	copy(p.raw, y)
	copy(p.block[p.filled], p.usage)
	if p.filled++; p.filled == len(p.block) {
		p.filled = 0
		if err := p.learn(at); err != nil {
			return Report{}, false, err
		}
		return p.report(at, OnBlock)
	}
	return p.reportEvent(at)
}

func (p *Pipeline) check(at time.Time, y []float64) error {
	if len(y) != len(p.usage) {
		return refuse("len(y)", len(y), "want %d", len(p.usage))
	}
	if !at.After(p.at) {
		return refuse("at", at, "must be after the last sample, %v", p.at)
	}
	for i, v := range y {
		if !(v >= 0 && v <= 1) {
			return refuse("y["+p.config.Channels[i].Name+"]", v, "must be in [0, 1]")
		}
	}
	return p.rejection.check(at, y)
}

// learn folds the full block into the model and steps the estimator.
func (p *Pipeline) learn(at time.Time) error {
	if err := svd.UpdateTo(&p.model, p.model, p.block, p.config.Model, &p.workspace); err != nil {
		return fmt.Errorf("agent: model: %w", err)
	}
	p.blocks++
	share := p.share(at)
	if err := svd.BlendTo(&p.effective, p.model, p.fleet.model, share, &p.workspace); err != nil {
		return fmt.Errorf("agent: effective model: %w", err)
	}
	p.blended = 0
	if p.fleet.model.Mass() > 0 {
		p.blended = share
	}
	p.demand = p.effective.DemandTo(p.demand)
	for i, q := range p.demand {
		p.demand[i] = math.Max(q, 0) // a truncated model may point below zero
	}
	for i, y := range p.usage {
		p.headroom[i] = 1 - y
	}
	measured := p.measured(at)
	for i := range p.taken {
		k, taken := p.known(i, at)
		p.loads[i], p.taken[i] = max(float64(measured)-k.Measured, 0), taken
	}
	err := p.estimator.Step(kalman.Observation{
		Headroom: p.headroom, Pods: float64(measured), Load: p.loads, Known: p.taken,
		Churn: p.churn.recent(at, p.config.ChurnHold), Transitioning: math.Abs(float64(p.pods.loading - measured)),
		Pause: (p.pods.held > 0 || p.config.PauseOnChurn) && p.churning(at),
	})
	if err != nil {
		return fmt.Errorf("agent: estimator: %w", err)
	}
	p.own = p.estimator.EstimatesTo(p.own)
	p.verdicts, p.tested = p.estimator.VerdictsTo(p.verdicts), p.estimator.InnovationsTo(p.tested)
	return nil
}

// Pods takes all pods on the node, and returns a report if those that count
// changed and one is due. Where placeholders alone have changed nothing has. Pods that no
// source can mean are a *field.Error and change nothing.
func (p *Pipeline) Pods(at time.Time, pods []Pod) (Report, bool, error) {
	if err := checkPods(pods); err != nil {
		return Report{}, false, err
	}
	at = at.UTC()
	pods, hidden := p.placeholders.hide(at, pods)
	if hidden && p.pods.lists(pods) {
		return Report{}, false, nil
	}
	p.pace.advance(at, p.config.PaceHalfLife)
	gone, changed := p.pods.set(at, pods, &p.pace.way)
	p.pace.ended(at, gone)
	p.pods.keepEnded(at, gone, p.config.Settle)
	p.recount(at)
	p.pending = p.pending || changed
	return p.reportEvent(at)
}

// recount concludes which pods load the node as far as is known now.
func (p *Pipeline) recount(at time.Time) {
	p.power.advance(at, p.pods.loading)
	p.pace.forget(at)
	p.pace.observe(p.pods.records)
	p.pods.conclude(at, p.pace.lead, func(r *podRecord) { p.pace.began(at, r) })
	p.pace.loading = p.pods.loading
	if p.pods.held > 0 { // what an init container takes shows nothing of its pod
		p.Churn(at)
	}
}

// Bound takes the notice that a scheduler has bound a pod to this node: a container is about
// to start, and how long that takes is measured. Of a pod that runs already only
// the number of its init containers and what is known of it are news.
func (p *Pipeline) Bound(at time.Time, b Bind) {
	at = at.UTC()
	if b.InitsKnown = b.InitsKnown && b.Inits >= 0; !b.InitsKnown {
		b.Inits = 0
	}
	if b.Demand.Validate() != nil {
		b.Demand = profile.Demand{}
	}
	if p.placeholders.has(b.Pod) {
		return
	}
	r := p.pods.find(b.Pod)
	if r == nil {
		p.Churn(at)
		p.pace.expect(at, b)
		return
	}
	if b.Demand != (profile.Demand{}) {
		r.Demand = b.Demand
		p.pods.count()
	}
	if b.InitsKnown && !r.InitsKnown {
		r.Inits, r.InitsKnown = b.Inits, true
		p.pace.advance(at, p.config.PaceHalfLife)
		p.recount(at)
	}
	if r.State == PodPending && r.BoundAt.IsZero() {
		r.BoundAt = at
		p.Churn(at)
	}
}

// stale reports whether the newest sample is too old to stand for the node.
func (p *Pipeline) stale(at time.Time) bool {
	return !p.at.IsZero() && at.Sub(p.at) > p.config.MaxAge
}

// Cores are those that the machine has at present.
func (p *Pipeline) Cores() float64 { return p.config.Cores }

// Memory is that of the machine in bytes, 0 where no channel is of it.
func (p *Pipeline) Memory() float64 {
	for i := range p.config.Channels {
		if ch := &p.config.Channels[i]; ch.Name == Memory {
			return ch.Size
		}
	}
	return 0
}

// Churn takes the notice that a container is about to start or to stop.
func (p *Pipeline) Churn(at time.Time) { p.churn.event(at.UTC(), p.config.ChurnHold) }

func (p *Pipeline) churning(at time.Time) bool {
	return p.churn.open(at, p.config.ChurnHold, p.config.ChurnCap)
}

// count is the pod count now, and as the filtered usage shows it.
func (p *Pipeline) count(at time.Time) capacity.Pods {
	return capacity.Pods{Now: float64(p.pods.counted), Measured: float64(p.measured(at))}
}

// measured is n₀, the pods whose load the filtered usage shows.
func (p *Pipeline) measured(at time.Time) int { return p.pods.measured(at.Add(-p.config.Settle)) }

// churnWindow is open from the first container event until hold after the last,
// but at most cap long.
type churnWindow struct {
	first, last time.Time
}

func (w *churnWindow) event(at time.Time, hold time.Duration) {
	if w.first.IsZero() || at.Sub(w.last) >= hold {
		w.first = at
	}
	w.last = at
}

func (w *churnWindow) open(at time.Time, hold, limit time.Duration) bool {
	return !w.first.IsZero() && at.Sub(w.last) < hold && at.Sub(w.first) < limit
}

// recent reports whether the last event is less than hold ago, however long ago the
// first.
func (w *churnWindow) recent(at time.Time, hold time.Duration) bool {
	return !w.first.IsZero() && at.Sub(w.last) < hold
}
