// Package spark has tests alone: they decode what operator/workload makes by the Spark operator's own
// types, strictly, and compare the states that we know with its own.
//
//	GOWORK=off go test -C tools/compat ./spark
//
// The module is outside the workspace because what the operator's module requires is
// nobody else's business.
package spark
