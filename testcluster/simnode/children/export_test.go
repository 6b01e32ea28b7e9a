package children

// What tests of the package outside of it look at.

var (
	ErrNoInit = errNoInit
	ErrClosed = errClosed
)
