package convert

// What tests of the package outside of it look at.

var ErrInvalid = errInvalid
