package podforward

// These are exported for tests of the package from outside.

var (
	ErrTooLong = errTooLong
	ErrInvalid = errInvalid
	ErrRefused = errRefused
)
