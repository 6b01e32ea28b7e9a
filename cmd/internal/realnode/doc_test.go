// Package realnode tests the programs on one real Kubernetes node: kubelet,
// containerd and runc, kube-controller-manager, kube-proxy, CoreDNS and pods, beside
// an API server in a process of its own (package embedded).
//
//	REALNODE=1 .ci/run realnode
//
// It wants root, Linux, and of Debian's packages runc, iproute2, nftables and
// conntrack; what it runs besides, tools/node makes from Go modules. Everything lives
// in namespaces of its own: of processes, so that the end of the first ends all;
// of mounts; and of the network, with a veth of TEST-NET-1 and no way out. Only the
// cgroups are the machine's, the group kubepods at the top among them as on any
// node: a test run that is killed leaves them, empty, to the next.
//
// The tests carry the build tag realnode. REALNODE_DIR names a directory that
// tools/node filled, to do without building.
package realnode
