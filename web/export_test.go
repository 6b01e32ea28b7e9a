package web

// What tests of the package outside of it look at.

const (
	MaxFrame = maxFrame
	MaxNodes = maxNodes
	MaxRuns  = maxRuns
)

var (
	ErrInvalid = errInvalid
	Verdict    = verdict
)
