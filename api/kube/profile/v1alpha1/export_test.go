package v1alpha1

// ErrInvalid is exported for tests of the package from outside.
var ErrInvalid = errInvalid
