package podforward

// What tests of the package outside of it look at.

var (
	ErrTooLong = errTooLong
	ErrInvalid = errInvalid
	ErrRefused = errRefused
)
