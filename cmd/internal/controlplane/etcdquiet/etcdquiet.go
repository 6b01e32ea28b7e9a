// Package etcdquiet, when imported, keeps the etcd client inside kube-apiserver
// from writing warnings to standard error, such as one for each request that a
// client gave up.
//
// That client's logger is made when k8s.io/apiserver is initialised, and takes
// its level from the environment. Packages whose imports are ready are
// initialised in the order of their import paths, so this one, which imports
// nothing but os, comes first.
package etcdquiet

import "os"

const variable = "ETCD_CLIENT_DEBUG"

func init() {
	if os.Getenv(variable) == "" {
		// An error here would mean a platform without an environment.
		_ = os.Setenv(variable, "error")
	}
}
