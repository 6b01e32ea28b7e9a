package publish

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// ModelsConfig describes where local models go, and when.
type ModelsConfig struct {
	// Target is the gRPC target of the aggregator.
	Target string
	// Transport is the agent's identity and trust.
	Transport transport.Config
	// TokenFile holds the token that the aggregator asks for, empty for none. It
	// is read for each push and needs TLS.
	TokenFile string
	Staleness Staleness
	// Backoff is the wait after a push that failed.
	Backoff Backoff
	// OnFleet, if set, gets the fleet's model after each push that brought
	// one. It is called from the goroutine of Run.
	OnFleet func(agent.Fleet)
	// Registerer gets the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Logger gets one line when the aggregator is lost; nil logs nothing.
	Logger *slog.Logger
}

// Validate returns a *field.Error, or what package transport refuses.
func (c ModelsConfig) Validate() error {
	if c.Target == "" {
		return refuse("Target", `""`, "missing")
	}
	if err := c.Staleness.validate(); err != nil {
		return err
	}
	if err := c.Backoff.validate(); err != nil {
		return err
	}
	if c.TokenFile != "" && !c.Transport.Encrypted() {
		return refuse("TokenFile", c.TokenFile, "a token is not sent in plaintext")
	}
	_, err := transport.DialOptions(c.Target, c.Transport)
	return err
}

// Models pushes the newest local model to the aggregator when the staleness
// rule asks for it. It is safe for concurrent use; Run is called once.
type Models struct {
	target    string
	options   []grpc.DialOption
	staleness Staleness
	backoff   Backoff
	onFleet   func(agent.Fleet)
	metrics   modelMetrics
	logger    *slog.Logger

	latest atomic.Pointer[spaziov1.LocalModel]
	wake   chan struct{}
}

// NewModels checks the config; Run connects.
func NewModels(c ModelsConfig) (*Models, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options, err := dialOptions(c.Target, c.Transport, c.TokenFile, connectTimeout)
	if err != nil {
		return nil, err
	}
	metrics, err := newModelMetrics(c.Registerer)
	if err != nil {
		return nil, err
	}
	return &Models{
		target:    c.Target,
		options:   options,
		staleness: c.Staleness.withDefaults(),
		backoff:   c.Backoff.withDefaults(),
		onFleet:   c.OnFleet,
		metrics:   metrics,
		logger:    cmp.Or(c.Logger, slog.New(slog.DiscardHandler)).With("aggregator", c.Target),
		wake:      make(chan struct{}, 1),
	}, nil
}

// Offer makes l the model that is pushed next and returns at once.
func (m *Models) Offer(l agent.Local) {
	m.latest.Store(api.FromLocal(l))
	wake(m.wake)
}

// Run pushes until ctx ends, and then returns nil.
func (m *Models) Run(ctx context.Context) error {
	p := pusher{Models: m, retry: retries{backoff: m.backoff}}
	defer p.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		made := false
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
			made = true
		case <-timer.C:
		}
		next := m.latest.Load()
		if next == nil {
			continue
		}
		if wait := time.Until(p.due(next)); !m.staleness.isDue(wait, made) {
			timer.Reset(wait)
			continue
		}
		p.push(ctx, next)
		timer.Reset(time.Until(p.due(next)))
	}
}

// pusher is the state of Run: one connection, made anew after a failure so
// that the only backoff is ours, and what was pushed last.
type pusher struct {
	*Models
	connection *grpc.ClientConn
	retry      retries
	last       *spaziov1.LocalModel // nil before the first push and after a failure
	tried      time.Time
	pause      time.Duration // after a failure
}

// due is the moment at which next should be pushed.
func (p *pusher) due(next *spaziov1.LocalModel) time.Time {
	if p.tried.IsZero() {
		return p.tried
	}
	return p.tried.Add(max(p.pause, p.staleness.wait(p.last, next)))
}

func (p *pusher) push(ctx context.Context, next *spaziov1.LocalModel) {
	p.tried = time.Now()
	fleet, err := p.call(ctx, next)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if p.retry.failures == 0 {
			p.logger.Warn("the aggregator did not take the model of the node; it is sent again", "error", err)
		}
		p.metrics.failures.Inc()
		p.last, p.pause = nil, p.retry.next()
		p.close()
		return
	}
	p.last, p.pause = next, 0
	p.retry.reset()
	p.metrics.pushes.Inc()
	if fleet != nil && p.onFleet != nil {
		p.onFleet(*fleet)
	}
}

// pushTimeout bounds one push.
const pushTimeout = 5 * time.Second

// call returns the fleet's model, or nil where the aggregator has none yet.
func (p *pusher) call(ctx context.Context, next *spaziov1.LocalModel) (*agent.Fleet, error) {
	if p.connection == nil {
		connection, err := grpc.NewClient(p.target, p.options...)
		if err != nil {
			return nil, err
		}
		p.connection = connection
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	response, err := spaziov1.NewModelServiceClient(p.connection).Push(ctx, &spaziov1.PushRequest{Local: next})
	if err != nil || response.GetGlobal() == nil {
		return nil, err
	}
	fleet, err := api.ToFleet(response.GetGlobal())
	if err != nil {
		return nil, err
	}
	return &fleet, nil
}

func (p *pusher) close() {
	if p.connection != nil {
		p.connection.Close()
		p.connection = nil
	}
}

// Staleness is the rule by which a node pushes its local model: when it has
// changed, or has grown old, but never too often.
type Staleness struct {
	// MinInterval is the least time between two pushes, give or take a twentieth,
	// default 1 s: a block of ten samples at 10 Hz.
	MinInterval time.Duration
	// MaxAge is the time after which an unmoved model is pushed again, so that
	// the aggregator knows the node lives; default 10 s. The answer to a push
	// brings the fleet's model, so an unmoved node gets a change in the
	// fleet up to MaxAge later.
	MaxAge time.Duration
}

// These are how far a model may move before it is pushed. They change the node's signal in
// about that proportion, less than one pod does.
const (
	// turned is the sine of the angle that the direction u₁ may turn.
	turned = .05
	// stretched is the relative change of σ₁ that is allowed, and, of a centred model, that of
	// a channel's mean.
	stretched = .05
)

// faint is the root mean square load below which a model's moves are noise: an
// idle node's usage of a percent or two halves and doubles, and turns, all the
// time.
const faint = .02

// validate returns a *field.Error.
func (s Staleness) validate() error {
	d := s.withDefaults()
	switch {
	case s.MinInterval < 0:
		return refuse("Staleness.MinInterval", s.MinInterval, "negative")
	case d.MaxAge < d.MinInterval:
		return refuse("Staleness.MaxAge", s.MaxAge, "less than MinInterval")
	}
	return nil
}

func (s Staleness) withDefaults() Staleness {
	s.MinInterval = cmp.Or(s.MinInterval, time.Second)
	s.MaxAge = cmp.Or(s.MaxAge, max(s.MinInterval, 10*time.Second))
	return s
}

// isDue reports whether to push a model whose time comes after wait. Models are made a
// MinInterval apart by default; one that was made just now is not kept for a moment,
// for to wake up again costs more than sending it early.
func (s Staleness) isDue(wait time.Duration, made bool) bool {
	return wait <= 0 || made && wait <= s.MinInterval/20
}

// wait is the time from the push of last, nil for none, to that of next.
func (s Staleness) wait(last, next *spaziov1.LocalModel) time.Duration {
	s = s.withDefaults()
	if last == nil || hasMoved(last, next, turned, stretched) {
		return s.MinInterval
	}
	return s.MaxAge
}

// hasMoved reports whether next has something for the fleet that last had not: another
// schema, a cost now known, another mean, or, under load, another σ₁ or u₁, by more than
// stretched and turned.
func hasMoved(last, next *spaziov1.LocalModel, turned, stretched float64) bool {
	if last.GetSchema() != next.GetSchema() || last.GetModel().GetDim() != next.GetModel().GetDim() {
		return true
	}
	if len(last.GetCosts()) != len(next.GetCosts()) {
		return true
	}
	for i, cost := range next.GetCosts() {
		if cost.GetKnown() != last.GetCosts()[i].GetKnown() {
			return true
		}
	}
	if shifted(last.GetModel().GetMean(), next.GetModel().GetMean(), stretched) {
		return true
	}
	before, rmsBefore := leading(last.GetModel())
	after, rmsAfter := leading(next.GetModel())
	if max(rmsBefore, rmsAfter) < faint {
		return false
	}
	if math.Abs(rmsAfter-rmsBefore) > stretched*rmsBefore {
		return true
	}
	return sine(before, after) > turned
}

// shifted reports whether the mean of a centred model has changed by more than a limit, or
// the model has become, or ceased to be, one.
func shifted(last, next []float64, limit float64) bool {
	if len(last) != len(next) {
		return true
	}
	for i, v := range next {
		if math.Abs(v-last[i]) > limit {
			return true
		}
	}
	return false
}

// leading returns u₁ and the root mean square of the load along it, σ₁/√b.
func leading(m *spaziov1.Model) ([]float64, float64) {
	dim := int(m.GetDim())
	if len(m.GetSigma()) == 0 || len(m.GetU()) < dim {
		return nil, 0
	}
	return m.GetU()[:dim], m.GetSigma()[0] / math.Sqrt(float64(m.GetBlock()))
}

// sine is that of the angle between the lines along unit vectors u and v, by
// the remainder of the projection: 1 − (u·v)² would lose small angles.
func sine(u, v []float64) float64 {
	var along, rest float64
	for i := range u {
		along += u[i] * v[i]
	}
	for i := range u {
		r := u[i] - along*v[i]
		rest += r * r
	}
	return math.Sqrt(rest)
}
