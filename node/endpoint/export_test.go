package endpoint

// Exports for tests outside the package.

var (
	ErrNoMetric  = errNoMetric
	ParseMetrics = parseMetrics
	NewMetrics   = newMetrics
)
