package liqo

// ErrInvalid is exported for tests of the package from outside.
var ErrInvalid = errInvalid
