package server

// ParseRequest is exported for fuzzing.
var ParseRequest = parseRequest

// ParseFrames and EncodeFrame are exported for fuzzing.
var (
	ParseFrames = parseFrames
	EncodeFrame = encodeFrame
)
