package profiler

// What tests of the package outside of it look at.

var (
	Fill  = fill
	Place = place
)
