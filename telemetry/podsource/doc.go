// Package podsource is the map of a module of further sources of a node's pods, each of
// them a telemetry.PodSource; it holds no code.
//
//   - cri asks the container runtime through the CRI, whichever it is, over its socket.
//   - containerd asks containerd's own API, which reports some milliseconds earlier.
//   - kube watches the Kubernetes API: neither files nor a socket of the node, and a second
//     later or more.
//
// Where the kubelet's control groups can be seen telemetry.CgroupPods warns earlier than any
// of these and needs no socket. The module is one of its own for what it brings: gRPC and
// client-go.
package podsource
