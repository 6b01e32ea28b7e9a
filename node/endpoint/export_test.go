package endpoint

// What tests of the package outside of it look at.

var (
	ErrNoMetric  = errNoMetric
	NewProfiles  = newProfiles
	ParseMetrics = parseMetrics
	NewMetrics   = newMetrics
)
