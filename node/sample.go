package node

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// ErrClockJump drops a sample: the wall clock got ahead of the steady one. The
// machine was suspended, or its clock was set.
var ErrClockJump = errors.New("the wall clock jumped ahead")

// tick takes one sample through the pipeline.
func (d *Daemon) tick() {
	now := time.Now()
	d.keepPace(now)
	c := d.readClocks()
	step := c.step(d.clocks)
	d.clocks = c
	values, err := d.config.Sampler.SampleTo(d.values, c.at)
	d.watch.sampling += time.Since(now)
	d.resize(c.at)
	if errors.Is(err, telemetry.ErrPriming) {
		return
	}
	if step.Abs() > maxStep {
		d.stepped(step)
		if step > 0 && err == nil { // it was read all the same, as the next one's base
			err = ErrClockJump
		}
	}
	if err != nil {
		d.dropped(c.at, err)
		return
	}
	d.values = values
	d.observe(now, c, values)
}

// readClocks reads the clocks; without one of its own the wall's is the pipeline's.
func (d *Daemon) readClocks() clocks {
	at := d.config.Now()
	if d.config.Wall == nil {
		return clocks{at, at}
	}
	return clocks{at, d.config.Wall().Round(0)}
}

// observe hands a good sample to the pipeline.
func (d *Daemon) observe(now time.Time, c clocks, values []float64) {
	if r := d.config.Recorder; r != nil {
		r.Sample(c.at, values)
	}
	report, due, err := d.config.Pipeline.Sample(c.at, values)
	if err != nil {
		d.dropped(c.at, err)
		return
	}
	d.good = c.wall
	d.config.Metrics.sampled()
	d.sampled.Store(&now)
	if d.failing {
		d.config.Logger.Info("samples are good again")
	}
	d.failing = false
	if due {
		d.publish(report)
		d.offer()
	}
}

// resize passes on that the machine has changed.
func (d *Daemon) resize(at time.Time) {
	if d.config.SizesTo == nil {
		return
	}
	d.probed = d.config.SizesTo(d.probed)
	if slices.Equal(d.probed, d.sizes) {
		return
	}
	first := d.sizes == nil
	d.sizes = append(d.sizes[:0], d.probed...)
	if r := d.config.Recorder; r != nil {
		r.Sizes(at, d.sizes)
	}
	if err := d.config.Pipeline.Resize(d.sizes); err != nil {
		d.config.Logger.Warn("sizes refused", "sizes", d.sizes, "error", err)
	} else if !first {
		d.config.Logger.Info("the machine has changed", "sizes", d.sizes)
	}
}

// dropped counts a lost sample. Only the first of a series is a line in the
// log: at 10 Hz the rest would drown it.
func (d *Daemon) dropped(at time.Time, err error) {
	if r := d.config.Recorder; r != nil {
		r.Dropped(at, err)
	}
	d.config.Metrics.dropped(err)
	if !d.failing {
		d.config.Logger.Warn("sample dropped", "error", err)
	}
	d.failing = true
}

func (d *Daemon) stepped(step time.Duration) {
	d.config.Metrics.stepped()
	d.config.Logger.Info("the wall clock stepped", "by", step.Round(time.Millisecond))
}

// watch is what the watchdog's line in the log is made of.
type watch struct {
	dog      *Watchdog
	spent    Spent         // at the start of the span
	sampling time.Duration // spent in the sampler, in the span
}

// keepPace takes the machine's time at which a sample is due, and tells the
// operator when the rate is lost and when it is back.
func (d *Daemon) keepPace(now time.Time) {
	if d.ticked.IsZero() {
		d.sampled.Store(&now)
		d.watch.spent = d.config.Spent()
	} else {
		d.config.Metrics.interval(now.Sub(d.ticked), d.config.Period)
	}
	d.ticked = now
	p, ended := d.watch.dog.Tick(now)
	if !ended {
		return
	}
	d.config.Metrics.paced(p)
	spent := d.config.Spent()
	if p.Changed {
		d.logPace(p, spent.since(d.watch.spent))
	}
	d.watch.spent, d.watch.sampling = spent, 0
}

// logPace says in shares of the span what may be in the way. Where all of them
// are small, the process waited for a CPU.
func (d *Daemon) logPace(p Pace, spent Spent) {
	share := func(s time.Duration) float64 { return float64(s.Milliseconds()) / float64(p.Over.Milliseconds()) }
	logger := d.config.Logger.With("rate", p.Rate, "want", p.Want, "over", p.Over.Round(time.Millisecond),
		slog.Group("share", "sampling", share(d.watch.sampling), "own-cpu", share(spent.Own),
			"stolen", share(spent.Stolen)))
	if p.Held {
		logger.Info("samples keep their rate again")
		return
	}
	logger.Warn("samples can't keep their rate: the machine is overloaded or reading it takes too long")
}
