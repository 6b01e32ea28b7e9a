package authority

// Exports for tests outside the package.

var (
	ErrContended = errContended
)
