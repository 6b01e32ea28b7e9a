package server

// ParseRequest is for fuzzing.
var ParseRequest = parseRequest

// ParseFrames and EncodeFrame are for fuzzing.
var (
	ParseFrames = parseFrames
	EncodeFrame = encodeFrame
)
