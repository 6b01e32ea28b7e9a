package parts

// What tests of the package outside of it look at.

var (
	ErrEnded = errEnded
)
