package agentd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Sampler measures a machine; *telemetry.Reader is one.
type Sampler interface {
	// SampleTo stores a value in [0,1] per channel for the time at in dst,
	// which is nil or of their number. An error drops the sample;
	// telemetry.ErrPriming is the first sample's.
	SampleTo(dst []float64, at time.Time) ([]float64, error)
}

// Config of a Daemon. Pipeline, Sampler and Pods are required; the zero value
// of every other field is its default.
type Config struct {
	// Pipeline is owned by the Daemon from New on.
	Pipeline *agent.Pipeline
	Sampler  Sampler
	Pods     telemetry.PodSource
	// Period is the wall time between two samples; 0 means DefaultPeriod.
	Period time.Duration
	// Now is the clock of samples and events; nil means time.Now.
	Now func() time.Time
	// OnReport and OnLocal get each report and, once a block of samples, the
	// local model. They are called by Run and must not block.
	OnReport func(agent.Report)
	OnLocal  func(agent.Local)
	// Logger hears when samples are dropped and when they are good again; nil
	// logs nothing.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// DefaultPeriod is the 10 Hz that the pipeline's defaults are made for.
const DefaultPeriod = 100 * time.Millisecond

// unhealthyPeriods is how many periods without a good sample make a Daemon
// unhealthy: one block of the model.
const unhealthyPeriods = 10

// FieldError says which field of a Config is missing or out of range.
type FieldError struct {
	Field  string
	Value  any
	Reason string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("agentd: %s = %v: %s", e.Field, e.Value, e.Reason)
}

// Validate returns a *FieldError for the first field that is missing or out of
// range.
func (c Config) Validate() error {
	switch {
	case c.Pipeline == nil:
		return &FieldError{"Pipeline", nil, "missing"}
	case c.Sampler == nil:
		return &FieldError{"Sampler", nil, "missing"}
	case c.Pods == nil:
		return &FieldError{"Pods", nil, "missing"}
	case c.Period < 0:
		return &FieldError{"Period", c.Period, "negative"}
	}
	return nil
}

// Daemon runs a pipeline. Run is called once; the other methods are safe from
// any goroutine and never block.
type Daemon struct {
	config Config
	mail   mailbox
	last   atomic.Pointer[agent.Report]
	// sampled is the wall time of the last good sample, or of the start.
	sampled atomic.Pointer[time.Time]

	// The rest belongs to Run.
	values  []float64
	pods    map[reserve.PodKey]bool
	offered uint64 // sequence of the newest local model passed on
	ticked  time.Time
	failing bool
}

// New returns a Daemon, or the error of Config.Validate.
func New(c Config) (*Daemon, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Period == 0 {
		c.Period = DefaultPeriod
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Daemon{config: c, mail: mailbox{wake: make(chan struct{}, 1)}}, nil
}

// Last returns the newest report; ok is false before the first.
func (d *Daemon) Last() (r agent.Report, ok bool) {
	last := d.last.Load()
	if last == nil {
		return agent.Report{}, false
	}
	return *last, true
}

// Bound says that a scheduler has bound the pod to this node: its containers
// are about to start. A pod that runs already is no news.
func (d *Daemon) Bound(pod reserve.PodKey) { d.mail.bound(pod) }

// SetFleet takes what the aggregator returned. A fleet that does not fit the
// pipeline is logged and left aside.
func (d *Daemon) SetFleet(f agent.Fleet) { d.mail.setFleet(f) }

// Health returns an error if no good sample came for ten periods.
func (d *Daemon) Health() error {
	last := d.sampled.Load()
	if last == nil {
		return errors.New("not running")
	}
	if age := time.Since(*last); age > unhealthyPeriods*d.config.Period {
		return fmt.Errorf("no sample for %v", age.Round(time.Millisecond))
	}
	return nil
}

// Run samples until ctx ends, which is no error, or the pod source fails. When
// it returns, all it started has ended.
func (d *Daemon) Run(ctx context.Context) error {
	sourceCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = d.config.Pods.Run(sourceCtx, d.mail.podEvent)
	}()
	d.loop(ctx, ended)
	cancel()
	<-ended
	if err == nil && ctx.Err() == nil {
		err = errEnded
	}
	if err != nil {
		return fmt.Errorf("pod source: %w", err)
	}
	return nil
}

var errEnded = errors.New("ended by itself")

// loop returns when ctx or the pod source has ended.
func (d *Daemon) loop(ctx context.Context, ended <-chan struct{}) {
	ticker := time.NewTicker(d.config.Period)
	defer ticker.Stop()
	d.tick()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-d.mail.wake:
			d.deliver()
		case <-ticker.C:
			d.deliver()
			d.tick()
		}
	}
}

// tick takes one sample through the pipeline.
func (d *Daemon) tick() {
	wall := time.Now()
	if d.ticked.IsZero() {
		d.sampled.Store(&wall)
	} else {
		d.config.Metrics.interval(wall.Sub(d.ticked), d.config.Period)
	}
	d.ticked = wall
	at := d.config.Now()
	values, err := d.config.Sampler.SampleTo(d.values, at)
	if errors.Is(err, telemetry.ErrPriming) {
		return
	}
	if err != nil {
		d.dropped(err)
		return
	}
	d.values = values
	report, due, err := d.config.Pipeline.Sample(at, values)
	if err != nil {
		d.dropped(err)
		return
	}
	d.good(wall)
	if due {
		d.publish(report)
		d.offer()
	}
}

// dropped counts a lost sample. Only the first of a series is a line in the
// log: at 10 Hz the rest would drown it.
func (d *Daemon) dropped(err error) {
	d.config.Metrics.dropped(err)
	if !d.failing {
		d.config.Logger.Warn("sample dropped", "error", err)
	}
	d.failing = true
}

func (d *Daemon) good(wall time.Time) {
	d.config.Metrics.sampled()
	d.sampled.Store(&wall)
	if d.failing {
		d.config.Logger.Info("samples are good again")
	}
	d.failing = false
}

// deliver hands what is in the mailbox to the pipeline.
func (d *Daemon) deliver() {
	m := d.mail.take()
	at := d.config.Now()
	churn := m.churn
	for _, pod := range m.bound {
		churn = churn || !d.pods[pod]
	}
	if churn {
		d.config.Pipeline.Churn(at)
	}
	if m.fleet != nil {
		if err := d.config.Pipeline.SetFleet(at, *m.fleet); err != nil {
			d.config.Logger.Warn("fleet model refused", "error", err)
		}
	}
	if m.changed {
		d.setPods(at, m.pods)
	}
}

func (d *Daemon) setPods(at time.Time, uids []string) {
	keys := make([]reserve.PodKey, len(uids))
	d.pods = make(map[reserve.PodKey]bool, len(uids))
	for i, uid := range uids {
		keys[i] = reserve.KeyOf(uid)
		d.pods[keys[i]] = true
	}
	report, due, err := d.config.Pipeline.Pods(at, keys)
	if err != nil {
		d.config.Logger.Warn("pods not reported", "error", err)
		return
	}
	if due {
		d.publish(report)
	}
}

func (d *Daemon) publish(r agent.Report) {
	d.last.Store(&r)
	d.config.Metrics.reported(r)
	if d.config.OnReport != nil {
		d.config.OnReport(r)
	}
}

// offer passes the local model on, once for each block.
func (d *Daemon) offer() {
	if d.config.OnLocal == nil {
		return
	}
	if l, ok := d.config.Pipeline.Local(); ok && l.Sequence != d.offered {
		d.offered = l.Sequence
		d.config.OnLocal(l)
	}
}
