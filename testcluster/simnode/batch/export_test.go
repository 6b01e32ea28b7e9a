package batch

// Exports for tests outside the package.

const (
	Namespace = namespace
)

var (
	ErrInvalid = errInvalid
)
