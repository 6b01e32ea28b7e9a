package batch

// What tests of the package outside of it look at.

const (
	Namespace = namespace
)

var (
	ErrInvalid = errInvalid
)
