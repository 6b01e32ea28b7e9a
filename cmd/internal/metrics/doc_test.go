// Package metrics holds the test that cmd/deploy/observe/metrics.json lists what the programs
// show, by whose names, labels and help the dashboards, the alerts and docs/configure go:
//
//	go test ./internal/metrics -update
//
// An idle program shows no series of a vector that nothing has happened to yet, so that it
// asks each program, with all of its parts, for the descriptions of its metrics.
package metrics
