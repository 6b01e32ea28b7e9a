// Package install holds the tests that install Spazio into an API server and remove it again. No
// kubelet runs pods there: a double marks workloads as running.
package install
