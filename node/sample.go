package node

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
func (l *loop) tick() {
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
func (l *loop) readClocks() clocks {
	at := l.config.Now()
	if l.config.Wall == nil {
		return clocks{at, at}
	}
	return clocks{at, l.config.Wall().Round(0)}
}

// observe hands a good sample to the pipeline.
func (l *loop) observe(now time.Time, c clocks, values []float64) {
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
func (l *loop) resize(at time.Time) {
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
func (l *loop) dropped(at time.Time, err error) {
	l.recorder.Dropped(at, err)
	l.config.Metrics.dropped(err)
	if !l.failing {
		l.config.Logger.Warn("sample dropped", "error", err)
	}
	l.failing = true
}

func (l *loop) stepped(step time.Duration) {
	l.config.Metrics.stepped()
	l.config.Logger.Info("the wall clock stepped", "by", step.Round(time.Millisecond))
}

// paceWatch is what the watchdog's line in the log is made of.
type paceWatch struct {
	dog      *watchdog
	sampling time.Duration // spent in the sampler, in the span
}

// keepPace takes the machine's time at which a sample is due, and logs for the
// operator when the rate is lost and when it is back.
func (l *loop) keepPace(now time.Time) {
	if l.ticked.IsZero() {
		l.sampled.Store(&now)
	} else {
		l.config.Metrics.interval(now.Sub(l.ticked), l.config.Period)
	}
	l.ticked = now
	p, ended := l.watch.dog.tick(now)
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
func (l *loop) logPace(p pace) {
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

// A period is missed when the rate falls below lostShare of what was asked for,
// and held again from heldShare on: one late sample in twenty is a machine's
// everyday, one in ten is a block of the model that comes late each second.
const (
	lostShare = .9
	heldShare = .95
)

// pace is how samples kept their period over a span of time.
type pace struct {
	// Over is how long the span was, Rate the samples a second in it and Want
	// those there should have been.
	Over       time.Duration
	Rate, Want float64
	// Held is false from the first span that was too slow to the first that is
	// not; Changed reports that it differs from the span before.
	Held, Changed bool
}

// watchdog judges, by the times of samples, whether they keep their period. It
// is not safe for concurrent use.
type watchdog struct {
	period, over time.Duration
	since        time.Time // the span's start; zero before the first sample
	samples      int
	lost         bool
}

// newWatchdog returns a watchdog that judges spans of the given length, both
// positive.
func newWatchdog(period, over time.Duration) *watchdog {
	return &watchdog{period: period, over: over}
}

// tick takes the time of a sample. At the end of a span it returns how that was.
func (w *watchdog) tick(at time.Time) (p pace, ended bool) {
	if w.since.IsZero() {
		w.since = at
		return pace{}, false
	}
	w.samples++
	// A span ends with the tick nearest to its length.
	over := at.Sub(w.since)
	if over < w.over-w.period/2 {
		return pace{}, false
	}
	p = pace{Over: over, Want: 1 / w.period.Seconds(), Rate: float64(w.samples) / over.Seconds()}
	share := lostShare
	if w.lost {
		share = heldShare
	}
	p.Held = p.Rate >= share*p.Want
	p.Changed = p.Held == w.lost
	w.lost, w.since, w.samples = !p.Held, at, 0
	return p, true
}

// phases are where in their periods ten successive ticks come, in shares of one.
// What is read at a tick must not be in step with what it measures: a CPU limit
// stops and releases its tasks every tenth of a second, and a process that wakes
// up ten times a second is common, too; in step with the ticks it would be seen
// always or never. So ten ticks, and to within a fifth of the period each five of
// them, come at all phases of whatever has the ticks' period. No two are further
// apart than 1.2 periods, nor closer than .8.
var phases = [...]float64{0, .2, .4, .6, .8, .9, .7, .5, .3, .1}

// schedule determines when samples are due, counted from the start: once a period in the
// mean, at phases that vary. Period must be positive. It is not safe for
// concurrent use.
type schedule struct {
	Period time.Duration
	n      int
}

// next returns the time from elapsed until the next tick. Ticks that are due
// before it are lost.
func (s *schedule) next(elapsed time.Duration) time.Duration {
	s.n = max(s.n+1, int(elapsed/s.Period))
	for s.due() <= elapsed {
		s.n++
	}
	return s.due() - elapsed
}

func (s *schedule) due() time.Duration {
	phase := phases[s.n%len(phases)]
	return time.Duration(s.n)*s.Period + time.Duration(phase*float64(s.Period))
}
