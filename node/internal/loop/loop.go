package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/node/internal/power"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// sampler measures a machine; *telemetry.Reader is one.
type sampler interface {
	// SampleTo stores a value in [0,1] per channel for the time at in dst, grown
	// as append does, and returns it. An error drops the sample;
	// telemetry.ErrPriming is the first sample's.
	SampleTo(dst []float64, at time.Time) ([]float64, error)
}

// Config of a Loop. Pipeline, Sampler, Pods and Period are required; the zero
// value of every other field is its default. Nothing is checked here.
type Config struct {
	// Pipeline is owned by the Loop from New on.
	Pipeline *agent.Pipeline
	Sampler  sampler
	Pods     telemetry.PodSource
	// SizesTo writes the sizes of the channels as of the last sample to dst, grown
	// as append does; nil means those of Pipeline, for ever.
	SizesTo func(dst []float64) []float64
	// Period is the wall time between two samples.
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
	// samples. They are called one at a time, while Run runs, and must not block.
	OnReport func(r agent.Report, sampled time.Time)
	OnLocal  func(agent.Local)
	// Usage, if set, reads what pods take, behind each sample. OnUsage gets the
	// readings, none too, which are its own until it returns; it must not block.
	Usage   usageMeter
	OnUsage func(at time.Time, readings []agent.PodReading)
	// Power, if set, measures what the machine and its pods take, behind every tenth
	// sample.
	Power *power.Meter
	// Watch is the span over which the rate of samples is judged; 0 means
	// defaultWatch.
	Watch time.Duration
	// Logger gets when samples are dropped or late and when they are good
	// again; nil logs nothing.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *metrics
}

// defaultWatch is a hundred samples at 10 Hz.
const defaultWatch = 10 * time.Second

// unhealthyPeriods is how many periods without a good sample make a Loop
// unhealthy: one block of the model.
const unhealthyPeriods = 10

func (c Config) withDefaults() Config {
	c.Watch = cmp.Or(c.Watch, defaultWatch)
	if c.Now == nil {
		c.Now = newSteadyClock()
		if c.Wall == nil {
			c.Wall = time.Now
		}
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Loop runs a pipeline. Run is called once; the other methods are safe from any
// goroutine and, Why excepted, wait for nothing.
type Loop struct {
	config  Config
	input   input
	stopped chan struct{} // closed when Run has ended
	last    atomic.Pointer[agent.Report]
	// sampled is when the last good sample was taken, or the start, by time.Now.
	sampled atomic.Pointer[time.Time]

	// The rest is Run's.
	recorder *recording.Recorder
	values   []float64
	pods     []agent.Pod
	sizes    []float64 // that the pipeline has
	probed   []float64
	offered  uint64    // sequence of the newest local model passed on
	ticked   time.Time // by the machine's clock
	clocks   clocks    // of the last tick
	good     time.Time // wall time of the newest sample in the pipeline
	failing  bool
	watch    watch
	usage    usage
	ticks    int // since power was measured
}

// New returns a Loop that has yet to run.
func New(c Config) *Loop {
	c = c.withDefaults()
	return &Loop{
		config: c, input: input{came: make(chan struct{}, 1)}, stopped: make(chan struct{}),
		watch: watch{dog: NewWatchdog(c.Period, c.Watch)},
	}
}

// Last returns the newest report; ok is false before the first.
func (l *Loop) Last() (r agent.Report, ok bool) {
	last := l.last.Load()
	if last == nil {
		return agent.Report{}, false
	}
	return *last, true
}

// Bound takes the notice that a scheduler has bound the pod to this node: its containers are
// about to start, and the time they take is measured. A pod that runs already is
// no news.
func (l *Loop) Bound(b agent.Bind) { l.input.bound(b) }

// SetPlaceholders passes on which pods a scheduler names as holding room on the node and run
// nothing: all there are. They are not counted.
func (l *Loop) SetPlaceholders(pods []reserve.PodKey) { l.input.setPlaceholders(pods) }

// SetFleet passes on what the aggregator returned. A fleet that does not fit the
// pipeline is logged and left aside.
func (l *Loop) SetFleet(f agent.Fleet) { l.input.setFleet(f) }

// Health returns an error if no good sample came for ten periods.
func (l *Loop) Health() error {
	last := l.sampled.Load()
	if last == nil {
		return errors.New("not running")
	}
	if age := time.Since(*last); age > unhealthyPeriods*l.config.Period {
		return fmt.Errorf("no sample for %v", age.Round(time.Millisecond))
	}
	return nil
}

// ErrNoReport is what Why returns before the first report.
var ErrNoReport = errors.New("no report yet")

var errStopped = errors.New("the agent has stopped")

// Why explains the last report. It waits for the pipeline, at most until ctx
// ends; before the first report the error is ErrNoReport.
func (l *Loop) Why(ctx context.Context) (agent.Why, error) {
	a, err := l.input.ask(ctx, l.stopped)
	if err == nil && !a.ok {
		err = ErrNoReport
	}
	return a.why, err
}

// Run samples until ctx ends, which is no error, or the pod source fails, and
// records the pipeline with r unless that is nil. When it returns, all it
// started has ended.
func (l *Loop) Run(ctx context.Context, r *recording.Recorder) error {
	defer close(l.stopped)
	l.recorder = r
	ticker, err := NewTicker(l.config.Period)
	if err != nil {
		return err
	}
	ticks, ticking := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ticking)
		ticker.Run(func() { signal(ticks) })
	}()
	defer func() {
		ticker.Stop()
		<-ticking
	}()
	source, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- l.config.Pods.Run(source, l.input.podEvent) }()
	l.tick()
	for {
		select {
		case <-ctx.Done():
			return sourceError(<-ended)
		case err := <-ended:
			if err == nil && ctx.Err() == nil {
				err = errEnded
			}
			return sourceError(err)
		case <-ticks:
			l.dispatch()
			l.tick()
			l.readUsage(l.clocks.at)
			l.measurePower(l.clocks.at)
		case <-l.input.came:
			l.dispatch()
		}
	}
}

var errEnded = errors.New("ended by itself")

func sourceError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pod source: %w", err)
}

// signal notes over a channel with room for one that there is something to do.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
