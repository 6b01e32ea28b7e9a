package transport

// WithRawIO exports the wrapper of clients' connections.
var WithRawIO = withRawIO
