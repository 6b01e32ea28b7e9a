package node

import (
	"context"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// What tests of the package outside of it look at.

type (
	Loop        = loop
	LoopConfig  = loopConfig
	Measurement = measurement
	PowerMeter  = powerMeter
	Schedule    = schedule
	Pace        = pace
)

var (
	NewLoop        = newLoop
	NewLoopMetrics = newMetrics
	NewPowerMeter  = newPowerMeter
	NewTicker      = newTicker
	NewWatchdog    = newWatchdog
	Utilisation    = utilisation
)

// Share runs one round at a time that the test gives instead of Run's clock.
func (s *Sharing) Share(at time.Time) { s.share(at) }

func (l *loop) Last() (agent.Report, bool)                           { return l.lastReport() }
func (l *loop) Bound(b agent.Bind)                                   { l.input.bound(b) }
func (l *loop) SetPlaceholders(pods []reserve.PodKey)                { l.input.setPlaceholders(pods) }
func (l *loop) SetFleet(f agent.Fleet)                               { l.input.setFleet(f) }
func (l *loop) Health() error                                        { return l.health() }
func (l *loop) Why(ctx context.Context) (agent.Why, error)           { return l.why(ctx) }
func (l *loop) Run(ctx context.Context, r *recording.Recorder) error { return l.run(ctx, r) }
func (m *powerMeter) Observe(at time.Time, pods []telemetry.Pod)     { m.observe(at, pods) }
func (m *powerMeter) Measure(at time.Time) measurement               { return m.measure(at) }
func (w *watchdog) Tick(at time.Time) (pace, bool)                   { return w.tick(at) }
func (s *schedule) Next(elapsed time.Duration) time.Duration         { return s.next(elapsed) }
func (t *ticker) Run(tick func())                                    { t.run(tick) }
func (t *ticker) Stop()                                              { t.stop() }
