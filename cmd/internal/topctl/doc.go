// Package topctl is the commands spazio top and spazio explain: they ask a
// scheduler how it sees the nodes, and why a pod is where it is or waits.
//
// The scheduler answers on its debug address, which is on loopback by default.
// From elsewhere it is reached through the API server's proxy for pods, with a
// kubeconfig and the rights it gives.
package topctl
