package node

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
