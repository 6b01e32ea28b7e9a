package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// Sampler measures a machine; *telemetry.Reader is one.
type Sampler interface {
	// SampleTo stores a value in [0,1] per channel for the time at in dst,
	// which is nil or of their number. An error drops the sample;
	// telemetry.ErrPriming is the first sample's.
	SampleTo(dst []float64, at time.Time) ([]float64, error)
}

// Recorder keeps what goes into a pipeline and what comes out;
// *recording.Recorder is one. Its methods are called by Daemon.Run and must not
// block.
type Recorder interface {
	Sample(at time.Time, y []float64)
	Sizes(at time.Time, sizes []float64)
	Pods(at time.Time, pods []agent.Pod)
	Churn(at time.Time)
	Bound(at time.Time, b agent.Bind)
	Fleet(at time.Time, f agent.Fleet)
	Report(r agent.Report)
	Dropped(at time.Time, err error)
}

// Config of a Daemon. Pipeline, Sampler and Pods are required; the zero value
// of every other field is its default.
type Config struct {
	// Pipeline is owned by the Daemon from New on.
	Pipeline *agent.Pipeline
	Sampler  Sampler
	Pods     telemetry.PodSource
	// SizesTo writes the sizes of the channels as of the last sample to dst, grown
	// as append does; nil means those of Pipeline, for ever.
	SizesTo func(dst []float64) []float64
	// Period is the wall time between two samples; 0 means DefaultPeriod.
	Period time.Duration
	// Now is the clock of samples and events, which the pipeline lives by. It
	// must be steady; nil means the wall clock at the start, advanced by the
	// monotonic one.
	Now func() time.Time
	// Wall is the clock of Report.SampledAt, which other machines see; nil means
	// Now where that is set, else time.Now. Where it gets ahead of Now by a
	// second between two samples, as after a suspend, the sample is dropped.
	Wall func() time.Time
	// OnReport gets each report with the time of its newest sample by time.Now,
	// whatever Now and Wall say; OnLocal gets the local model once a block of
	// samples. They are called by Run and must not block.
	OnReport func(r agent.Report, sampled time.Time)
	OnLocal  func(agent.Local)
	// Recorder, if set, records the pipeline.
	Recorder Recorder
	// Watch is the span over which the rate of samples is judged; 0 means
	// DefaultWatch. Spent tells the likely causes of a low one; nil tells none.
	Watch time.Duration
	Spent func() Spent
	// Logger hears when samples are dropped or late and when they are good
	// again; nil logs nothing.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

// DefaultPeriod is the 10 Hz that the pipeline's defaults are made for.
const DefaultPeriod = 100 * time.Millisecond

// DefaultWatch is a hundred samples at 10 Hz.
const DefaultWatch = 10 * time.Second

// unhealthyPeriods is how many periods without a good sample make a Daemon
// unhealthy: one block of the model.
const unhealthyPeriods = 10

// FieldError says which field of a Config is missing or out of range. Err wraps
// ErrInvalid.
type FieldError struct {
	Field string
	Value any
	Err   error
}

// ErrInvalid is the reason of every FieldError of this package.
var ErrInvalid = errors.New("invalid configuration or input")

var (
	errMissing  = fmt.Errorf("%w: missing", ErrInvalid)
	errNegative = fmt.Errorf("%w: negative", ErrInvalid)
)

func (e *FieldError) Error() string {
	return fmt.Sprintf("agentd: %s = %v: %v", e.Field, e.Value, e.Err)
}

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Err }

// Validate returns a *FieldError for the first field that is missing or out of
// range.
func (c Config) Validate() error {
	switch {
	case c.Pipeline == nil:
		return &FieldError{"Pipeline", nil, errMissing}
	case c.Sampler == nil:
		return &FieldError{"Sampler", nil, errMissing}
	case c.Pods == nil:
		return &FieldError{"Pods", nil, errMissing}
	case c.Period < 0:
		return &FieldError{"Period", c.Period, errNegative}
	case c.Watch < 0:
		return &FieldError{"Watch", c.Watch, errNegative}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Period == 0 {
		c.Period = DefaultPeriod
	}
	if c.Watch == 0 {
		c.Watch = DefaultWatch
	}
	if c.Now == nil {
		c.Now = newSteadyClock().Now
		if c.Wall == nil {
			c.Wall = time.Now
		}
	}
	if c.Spent == nil {
		c.Spent = func() Spent { return Spent{} }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Daemon runs a pipeline. Run is called once; the other methods are safe from
// any goroutine and never block, but for Why.
type Daemon struct {
	config  Config
	mail    mailbox
	stopped chan struct{} // closed when Run has ended
	last    atomic.Pointer[agent.Report]
	// sampled is when the last good sample was taken, or the start, by time.Now.
	sampled atomic.Pointer[time.Time]

	// The rest belongs to Run.
	values  []float64
	pods    []agent.Pod
	sizes   []float64 // that the pipeline has
	probed  []float64
	offered uint64    // sequence of the newest local model passed on
	ticked  time.Time // by the machine's clock
	clocks  clocks    // of the last tick
	good    time.Time // wall time of the newest sample in the pipeline
	failing bool
	watch   watch
}

// New returns a Daemon, or the error of Config.Validate.
func New(c Config) (*Daemon, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &Daemon{
		config: c, mail: mailbox{wake: make(chan struct{}, 1)}, stopped: make(chan struct{}),
		watch: watch{dog: NewWatchdog(c.Period, c.Watch)},
	}, nil
}

// Last returns the newest report; ok is false before the first.
func (d *Daemon) Last() (r agent.Report, ok bool) {
	last := d.last.Load()
	if last == nil {
		return agent.Report{}, false
	}
	return *last, true
}

// Bound says that a scheduler has bound the pod to this node: its containers are
// about to start, and the time they take is measured. A pod that runs already is
// no news.
func (d *Daemon) Bound(b agent.Bind) { d.mail.bound(b) }

// SetFleet passes on what the aggregator returned. A fleet that does not fit the
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

// ErrNoReport is what Why returns before the first report.
var ErrNoReport = errors.New("no report yet")

var errStopped = errors.New("the agent has stopped")

// Why explains the last report. It waits for the pipeline, at most until ctx
// ends; before the first report the error is ErrNoReport.
func (d *Daemon) Why(ctx context.Context) (agent.Why, error) {
	a, err := d.mail.ask(ctx, d.stopped)
	if err == nil && !a.ok {
		err = ErrNoReport
	}
	return a.why, err
}

// Run samples until ctx ends, which is no error, or the pod source fails. When
// it returns, all it started has ended.
func (d *Daemon) Run(ctx context.Context) error {
	defer close(d.stopped)
	ticker, err := NewTicker(d.config.Period)
	if err != nil {
		return err
	}
	defer ticker.Stop()
	sourceCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = d.config.Pods.Run(sourceCtx, d.mail.podEvent)
	}()
	d.loop(ctx, ticker.C, ended)
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
func (d *Daemon) loop(ctx context.Context, ticks <-chan struct{}, ended <-chan struct{}) {
	d.tick()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-d.mail.wake:
			d.deliver()
		case <-ticks:
			d.deliver()
			d.tick()
		}
	}
}
