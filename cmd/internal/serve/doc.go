// Package serve is what the long-running commands have in common: how they
// start, stop and fail, their flags for TLS and logs, and the HTTP server of
// their metrics and health.
//
// A command's main is one line, serve.Main(run), where run builds a cobra
// command and ends in Execute. A test, or another command, calls run itself.
package serve
