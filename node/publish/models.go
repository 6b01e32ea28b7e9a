package publish

import (
	"cmp"
	"context"
	"log/slog"
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
	// Timeout bounds one push, default 5 s.
	Timeout time.Duration
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
	if c.Timeout < 0 {
		return refuse("Timeout", c.Timeout, "negative")
	}
	if err := c.Staleness.Validate(); err != nil {
		return err
	}
	if err := c.Backoff.Validate(); err != nil {
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
	timeout   time.Duration
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
		timeout:   cmp.Or(c.Timeout, 5*time.Second),
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
	return p.tried.Add(max(p.pause, p.staleness.Wait(p.last, next)))
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

// call returns the fleet's model, or nil where the aggregator has none yet.
func (p *pusher) call(ctx context.Context, next *spaziov1.LocalModel) (*agent.Fleet, error) {
	if p.connection == nil {
		connection, err := grpc.NewClient(p.target, p.options...)
		if err != nil {
			return nil, err
		}
		p.connection = connection
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	response, err := spaziov1.NewModelServiceClient(p.connection).Push(ctx, &spaziov1.PushRequest{Local: next})
	if err != nil || response.GetGlobal() == nil {
		return nil, err
	}
	fleet, err := api.ToFleet(response.GetGlobal())
	if err != nil {
		return nil, err
	}
	p.metrics.version.Set(float64(response.GetGlobal().GetVersion()))
	p.metrics.nodes.Set(float64(fleet.Nodes))
	return &fleet, nil
}

func (p *pusher) close() {
	if p.connection != nil {
		p.connection.Close()
		p.connection = nil
	}
}
