// Package spark has tests alone: they decode what operator/workload makes by the Spark operator's own
// types, strictly, and compare the states that we know with its own.
//
//	GOWORK=off go test -C tools/compat ./spark
//
// The module is outside the workspace so that the requirements of the operator's module do not
// reach it.
package spark
