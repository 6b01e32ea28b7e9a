package embedded

// Exports for tests outside the package.

var (
	ErrInvalid = errInvalid
	ErrStarted = errStarted
)
