package loop

import (
	"errors"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// errClockJump drops a sample: the wall clock got ahead of the steady one. The
// machine was suspended, or its clock was set.
var errClockJump = errors.New("the wall clock jumped ahead")

// tick takes one sample through the pipeline.
func (l *Loop) tick() {
	now := time.Now()
	l.keepPace(now)
	c := l.readClocks()
	step := c.step(l.clocks)
	l.clocks = c
	values, err := l.config.Sampler.SampleTo(l.values, c.at)
	l.watch.sampling += time.Since(now)
	l.resize(c.at)
	if errors.Is(err, telemetry.ErrPriming) {
		return
	}
	if step.Abs() > maxStep {
		l.stepped(step)
		if step > 0 && err == nil { // it was read all the same, as the next one's base
			err = errClockJump
		}
	}
	if err != nil {
		l.dropped(c.at, err)
		return
	}
	l.values = values
	l.observe(now, c, values)
}

// readClocks reads the clocks; without one of its own the wall's is the pipeline's.
func (l *Loop) readClocks() clocks {
	at := l.config.Now()
	if l.config.Wall == nil {
		return clocks{at, at}
	}
	return clocks{at, l.config.Wall().Round(0)}
}

// observe hands a good sample to the pipeline.
func (l *Loop) observe(now time.Time, c clocks, values []float64) {
	l.recorder.Sample(c.at, values)
	report, due, err := l.config.Pipeline.Sample(c.at, values)
	if err != nil {
		l.dropped(c.at, err)
		return
	}
	l.good = c.wall
	l.config.Metrics.sampled()
	l.sampled.Store(&now)
	if l.failing {
		l.config.Logger.Info("samples are good again")
	}
	l.failing = false
	if due {
		l.publish(report)
		l.offer()
	}
}

// resize passes on that the machine has changed.
func (l *Loop) resize(at time.Time) {
	if l.config.SizesTo == nil {
		return
	}
	l.probed = l.config.SizesTo(l.probed)
	if slices.Equal(l.probed, l.sizes) {
		return
	}
	first := l.sizes == nil
	l.sizes = append(l.sizes[:0], l.probed...)
	l.recorder.Sizes(at, l.sizes)
	if err := l.config.Pipeline.Resize(l.sizes); err != nil {
		l.config.Logger.Warn("sizes refused", "sizes", l.sizes, "error", err)
	} else if !first {
		l.config.Logger.Info("the machine has changed", "sizes", l.sizes)
	}
}

// dropped counts a lost sample. Only the first of a series is a line in the
// log: at 10 Hz the rest would drown it.
func (l *Loop) dropped(at time.Time, err error) {
	l.recorder.Dropped(at, err)
	l.config.Metrics.dropped(err)
	if !l.failing {
		l.config.Logger.Warn("sample dropped", "error", err)
	}
	l.failing = true
}

func (l *Loop) stepped(step time.Duration) {
	l.config.Metrics.stepped()
	l.config.Logger.Info("the wall clock stepped", "by", step.Round(time.Millisecond))
}

// watch is what the watchdog's line in the log is made of.
type watch struct {
	dog      *Watchdog
	sampling time.Duration // spent in the sampler, in the span
}

// keepPace takes the machine's time at which a sample is due, and logs for the
// operator when the rate is lost and when it is back.
func (l *Loop) keepPace(now time.Time) {
	if l.ticked.IsZero() {
		l.sampled.Store(&now)
	} else {
		l.config.Metrics.interval(now.Sub(l.ticked), l.config.Period)
	}
	l.ticked = now
	p, ended := l.watch.dog.Tick(now)
	if !ended {
		return
	}
	l.config.Metrics.paced(p)
	if p.Changed {
		l.logPace(p)
	}
	l.watch.sampling = 0
}

// logPace logs the rate with the share of the span that sampling took. Where that is
// small, the process waited for a CPU.
func (l *Loop) logPace(p Span) {
	logger := l.config.Logger.With("rate", p.Rate, "want", p.Want, "over", p.Over.Round(time.Millisecond),
		"sampling-share", l.watch.sampling.Seconds()/p.Over.Seconds())
	if p.Held {
		logger.Info("samples keep their rate again")
		return
	}
	logger.Warn("samples can't keep their rate: the machine is overloaded or reading it takes too long")
}

// newSteadyClock returns the wall clock at its start, advanced by the monotonic
// one: a step of the wall clock makes no interval between two of its times wrong,
// and unlike those of time.Now they can be written to a file and compared again.
func newSteadyClock() func() time.Time {
	started := time.Now()
	return func() time.Time { return started.Round(0).Add(time.Since(started)) }
}

// maxStep is how far the wall clock may get ahead of the steady one between two
// samples before the sample is dropped.
const maxStep = time.Second

// clocks are the times of a sample: the pipeline's and the wall clock's.
type clocks struct{ at, wall time.Time }

// step is how much farther the wall clock came than the steady one since an
// earlier sample.
func (c clocks) step(since clocks) time.Duration {
	if since.at.IsZero() {
		return 0
	}
	return c.wall.Sub(since.wall) - c.at.Sub(since.at)
}
