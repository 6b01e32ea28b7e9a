package parts

// Exports for tests outside the package.

var (
	ErrEnded = errEnded
)
