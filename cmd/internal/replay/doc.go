// Package replay is the command spazio replay: it runs the recording of an
// agent again (package recording), says whether the reports come out the same,
// or what they would have been with other options, and draws both.
//
// It imports nothing of Kubernetes.
package replay
