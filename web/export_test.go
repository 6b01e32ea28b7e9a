package web

// These are exported for tests of the package from outside.

const (
	MaxFrame = maxFrame
	MaxNodes = maxNodes
	MaxRuns  = maxRuns
)

var (
	ErrInvalid = errInvalid
	Verdict    = verdict
)
