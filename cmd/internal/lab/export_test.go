package lab

// ErrFlag is for tests.
var ErrFlag = errFlag
