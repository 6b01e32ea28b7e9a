// Package podsource has further sources of a node's pods, each of them a
// telemetry.PodSource.
//
//   - [NewCRI] asks the container runtime through the CRI, whichever it is, over its socket.
//   - Package kube watches the Kubernetes API: neither files nor a socket of the node, and a
//     second later or more.
//
// The one over a socket lists the containers at the start, after every reconnection, every
// 30 s and when an event does not fit what is known, so that the set of pods is
// right again after any loss.
//
// Where the kubelet's control groups can be seen telemetry.CgroupPods warns earlier than any
// of these and needs no socket, access to which is root on the node. The module is one of
// its own because it brings gRPC and client-go.
//
// Types that do not speak of concurrent use are plain values.
package podsource
