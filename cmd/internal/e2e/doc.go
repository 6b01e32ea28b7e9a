// Package e2e holds the tests that run the parts together: a real API server,
// the real scheduler, real gRPC between agents, scheduler and aggregator, each
// role inside the test process or as a process of its own.
//
// TestManyPendingPods is longer than a test should be with the number of pods it
// is meant for:
//
//	go test -run ManyPending -v ./internal/e2e -pending 10000
package e2e
