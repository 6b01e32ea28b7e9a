package simnode

// Exports for tests outside the package.

var (
	ErrEnded   = errEnded
	ErrInvalid = errInvalid
)
