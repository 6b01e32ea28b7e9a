package telemetry

// LacksPressure is for a test: no file of a test's own can be made to refuse
// reading the way the kernel's do.
var LacksPressure = lacksPressure
