// Package install holds the tests that put Spazio into an API server and take it
// out again. Nobody runs pods there: a double says that workloads run.
package install
