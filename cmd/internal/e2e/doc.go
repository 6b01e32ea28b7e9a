// Package e2e holds the tests that run the parts together: a real API server,
// the real scheduler, real gRPC between agents, scheduler and aggregator, each
// role inside the test process or as a process of its own.
package e2e
