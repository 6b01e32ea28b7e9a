// Package controlplane runs etcd and kube-apiserver inside the calling process,
// on loopback and over a temporary directory, for a demonstration or a test that
// wants the real API without a cluster.
//
// There is no controller manager: nodes and pods are what the caller makes of
// them. Service accounts are not required of pods, and nodes get no not-ready
// taint, because nothing would create the ones or remove the others. Every
// request needs a credential, and whoever has one may do everything.
//
// kube-apiserver keeps feature gates, metrics and its logger in globals, so a
// process can run one control plane, once.
package embedded
