package profiler

// These are exported for tests of the package from outside.

var (
	ErrInvalid = errInvalid
	Fill       = fill
	Place      = place
)
