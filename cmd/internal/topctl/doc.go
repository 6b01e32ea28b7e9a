// Package topctl is the commands spazio top, explain and why: they ask a
// scheduler how it sees the nodes and why a pod is where it is or waits, and a
// node's agent for the reasons of its last report.
//
// Both answer on debug addresses, which are on loopback. From elsewhere the API
// server forwards to the pod's, with a kubeconfig and the right to do so.
package topctl
