package page

// These are exported for tests of the package from outside.

var (
	Runs     = runs
	Timeline = timeline
)
