package endpoint

// Exports for tests outside the package.

var (
	ErrNoMetric  = errNoMetric
	NewProfiles  = newProfiles
	ParseMetrics = parseMetrics
	NewMetrics   = newMetrics
)
