package slice

// Exports for tests outside the package.

var (
	ErrInvalid = errInvalid
)
