package transport

// WithRawIO is what clients' connections are wrapped by.
var WithRawIO = withRawIO
