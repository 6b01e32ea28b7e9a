package simnode

// Exports for tests outside the package.

var (
	ErrInvalid = errInvalid
)
