package node

import "time"

// What tests of the package outside of it look at.

type (
	Loop        = loop
	LoopConfig  = loopConfig
	Measurement = measurement
	PowerMeter  = powerMeter
	Schedule    = schedule
	Span        = span
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
