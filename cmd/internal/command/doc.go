// Package command is what all commands have in common: how they start, stop and fail,
// their version and their flags for logs. It links neither gRPC nor Prometheus,
// which those that others connect to bring along with package endpoint.
//
// A command's main is one line, command.Main(run), where run builds a cobra
// command and ends in Execute. A test, or another command, calls run itself.
package command
