package convert

// What tests of the package outside of it look at.

type (
	Note = note
)

var ErrInvalid = errInvalid
