package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
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

// loopConfig configures a loop. Pipeline, Sampler, Pods and Period are required; the zero
// value of every other field is its default. Nothing is checked here.
type loopConfig struct {
	// Pipeline is owned by the loop from newLoop on.
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
	// samples. They are called one at a time, while run runs, and must not block.
	OnReport func(r agent.Report, sampled time.Time)
	OnLocal  func(agent.Local)
	// Usage, if set, reads what pods take, behind each sample. OnUsage gets the
	// readings, none too, which are its own until it returns; it must not block.
	Usage   UsageMeter
	OnUsage func(at time.Time, readings []agent.PodReading)
	// Power, if set, measures what the machine and its pods take, behind every tenth
	// sample.
	Power *powerMeter
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

// unhealthyPeriods is how many periods without a good sample make a loop
// unhealthy: one block of the model.
const unhealthyPeriods = 10

func (c loopConfig) withDefaults() loopConfig {
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

// loop runs a pipeline of package agent on a machine: it samples at a steady pace, hands
// samples, pods and the fleet's model to the pipeline and passes its reports on. run is
// called once; the other methods are safe from any goroutine and, why excepted, wait for
// nothing.
//
// The goroutine of run owns the pipeline. It waits for a tick or for input: pod events, the
// aggregator's model, the schedulers' notices, questions for the reasons of a report. Of
// input the newest of each kind is kept until the loop gets to it, so that a slow sample
// delays no scheduler and a dead scheduler no sample.
//
// The pipeline lives by a steady clock: the wall clock at the start, advanced by
// the monotonic one. Steps of the wall clock change no interval; reports carry
// its time all the same, since other machines read it. The monotonic clock and
// the kernel's counters stand still in a suspend alike, yet the one sample
// across it is dropped, as it is whenever the wall clock gets a second ahead.
type loop struct {
	config  loopConfig
	input   input
	stopped chan struct{} // closed when run has ended
	last    atomic.Pointer[agent.Report]
	// sampled is when the last good sample was taken, or the start, by time.Now.
	sampled atomic.Pointer[time.Time]

	// The rest is run's.
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
	watch    paceWatch
	usage    usage
	ticks    int // since power was measured
}

// newLoop returns a loop that has yet to run.
func newLoop(c loopConfig) *loop {
	c = c.withDefaults()
	return &loop{
		config: c, input: input{came: make(chan struct{}, 1)}, stopped: make(chan struct{}),
		watch: paceWatch{dog: newWatchdog(c.Period, c.Watch)},
	}
}

// lastReport returns the newest report; ok is false before the first.
func (l *loop) lastReport() (r agent.Report, ok bool) {
	last := l.last.Load()
	if last == nil {
		return agent.Report{}, false
	}
	return *last, true
}

// health returns an error if no good sample came for ten periods.
func (l *loop) health() error {
	last := l.sampled.Load()
	if last == nil {
		return errors.New("not running")
	}
	if age := time.Since(*last); age > unhealthyPeriods*l.config.Period {
		return fmt.Errorf("no sample for %v", age.Round(time.Millisecond))
	}
	return nil
}

// why explains the last report. It waits for the pipeline, at most until ctx
// ends; before the first report the error is ErrNoReport.
func (l *loop) why(ctx context.Context) (agent.Why, error) {
	a, err := l.input.ask(ctx, l.stopped)
	if err == nil && !a.ok {
		err = ErrNoReport
	}
	return a.why, err
}

// run samples until ctx ends, which is no error, or the pod source fails, and
// records the pipeline with r unless that is nil. When it returns, all it
// started has ended.
func (l *loop) run(ctx context.Context, r *recording.Recorder) error {
	defer close(l.stopped)
	l.recorder = r
	ticker, err := newTicker(l.config.Period)
	if err != nil {
		return err
	}
	ticks, ticking := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ticking)
		ticker.run(func() { signal(ticks) })
	}()
	defer func() {
		ticker.stop()
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

// dispatch hands what has come in to the pipeline.
func (l *loop) dispatch() {
	m, ok := l.input.drain()
	if !ok {
		return
	}
	at := l.config.Now()
	if m.placeholders != nil {
		l.setPlaceholders(at, *m.placeholders)
	}
	if m.churn || slices.ContainsFunc(m.churned, l.alive) {
		l.recorder.Churn(at)
		l.config.Pipeline.Churn(at)
	}
	for _, b := range m.bound {
		l.recorder.Bound(at, b)
		l.config.Pipeline.Bound(at, b)
	}
	if m.fleet != nil {
		l.setFleet(at, *m.fleet)
	}
	if m.changed {
		l.setPods(at, m.pods)
	}
	for _, reply := range m.asked {
		why, ok := l.config.Pipeline.Why()
		reply <- answer{why, ok}
	}
}

// alive reports whether a pod is no placeholder: one that is starts and stops without a load.
func (l *loop) alive(uid string) bool { return !l.config.Pipeline.Placeholder(reserve.KeyOf(uid)) }

func (l *loop) setPlaceholders(at time.Time, pods []reserve.PodKey) {
	l.recorder.Placeholders(at, pods)
	report, due, err := l.config.Pipeline.Placeholders(at, pods)
	if err != nil {
		l.config.Logger.Warn("placeholders refused", "error", err)
		return
	}
	if due {
		l.publish(report)
	}
}

func (l *loop) setFleet(at time.Time, f agent.Fleet) {
	l.recorder.Fleet(at, f)
	if err := l.config.Pipeline.SetFleet(at, f); err != nil {
		l.config.Logger.Warn("fleet model refused", "error", err)
	}
}

func (l *loop) setPods(at time.Time, pods []telemetry.Pod) {
	if l.config.Usage != nil {
		l.config.Usage.Observe(at, pods)
	}
	if l.config.Power != nil {
		l.config.Power.observe(at, pods)
	}
	l.pods = l.pods[:0]
	for _, pod := range pods {
		l.pods = append(l.pods, agent.Pod{Key: reserve.KeyOf(pod.UID), State: stateOf(pod.State), Starts: pod.Starts})
	}
	l.recorder.Pods(at, l.pods)
	report, due, err := l.config.Pipeline.Pods(at, l.pods)
	if err != nil {
		l.config.Logger.Warn("pods not reported", "error", err)
		return
	}
	if due {
		l.publish(report)
	}
}

func stateOf(s telemetry.PodState) agent.PodState {
	switch s {
	case telemetry.PodRunning:
		return agent.PodRunning
	case telemetry.PodStopped:
		return agent.PodStopped
	}
	return agent.PodPending
}

// publish passes a report on. The pipeline's clock is its own; others see the
// wall clock's time of the same sample.
func (l *loop) publish(r agent.Report) {
	l.recorder.Report(r)
	r.SampledAt = l.good
	l.last.Store(&r)
	l.config.Metrics.reported(&r)
	if l.config.OnReport != nil {
		l.config.OnReport(r, *l.sampled.Load())
	}
}

// offer passes the local model on, once for each block.
func (l *loop) offer() {
	if l.config.OnLocal == nil {
		return
	}
	if local, ok := l.config.Pipeline.Local(); ok && local.Sequence != l.offered {
		l.offered = local.Sequence
		l.config.OnLocal(local)
	}
}
