// Package embedded runs etcd and kube-apiserver inside the calling process, on
// loopback by default and over a temporary directory, for tests and demonstrations that
// need the real API without a cluster.
//
// There is one control plane a process, once: kube-apiserver keeps feature gates,
// metrics and its logger in globals. The version is that of k8s.io/kubernetes in
// this module's go.mod, 1.37.2; another takes another version of this module. Its
// first compilation takes minutes.
//
//	plane, err := embedded.Start(ctx, embedded.Config{})
//	if err != nil {
//		return err
//	}
//	defer plane.Close()
//	client, err := kubernetes.NewForConfig(plane.RESTConfig())
//
// # What is not there
//
// There is no controller manager (package controllers runs some of one): nodes and pods are what the caller makes of
// them (package simnode brings nodes that run pods). Hence pods need no service
// account, nodes get no not-ready taint, namespaces that are deleted stay, and
// the cluster roles that are made of others (admin, edit, view) are empty. A caller
// who runs one, and real kubelets, says so by [Config.Managed] and gives them an
// address that pods reach.
//
// # Who may do what
//
// Every request needs a credential. By default every holder of one may do everything;
// with [Config.RBAC] an administrator may ([ControlPlane.RESTConfig]), and others
// what roles and bindings allow: users ([ControlPlane.UserConfig]) and service
// accounts ([ControlPlane.ServiceAccountConfig]). [Config.Audit] receives each
// request, so that a test can check what a program really asks.
//
// # What it leaves
//
// [ControlPlane.Close] leaves no file, no port and no goroutine behind, except a
// few of the API server's watch cache that end within some seconds, by a timer.
// What stays is in Kubernetes' globals: its logger writes nowhere any more, and
// on a fatal error it ends the goroutine, not the process.
package embedded
