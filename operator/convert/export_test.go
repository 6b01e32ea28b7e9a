package convert

// These are exported for tests of the package from outside.

var ErrInvalid = errInvalid
