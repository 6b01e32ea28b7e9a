package server

// ParseRequest is for fuzzing.
var ParseRequest = parseRequest
