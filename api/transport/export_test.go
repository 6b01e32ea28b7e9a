package transport

// Quiet is what clients' connections are wrapped by.
var Quiet = quiet
