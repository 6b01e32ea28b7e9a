package thesis

// ErrPolicy refuses a policy that does not exist, or what one can't do.
var ErrPolicy = errPolicy
