package children

// Exports for tests outside the package.

var (
	ErrNoInit = errNoInit
	ErrClosed = errClosed
)
