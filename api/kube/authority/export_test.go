package authority

// What tests of the package outside of it look at.

var (
	ErrContended = errContended
)
