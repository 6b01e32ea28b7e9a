// Package etcdquiet, when imported, keeps the etcd client inside kube-apiserver
// from writing to standard error: it warns of each request that a caller gave
// up.
//
// That client's logger is made when a package of k8s.io/apiserver is
// initialised, from logutil's defaults. Packages whose imports are ready are
// initialised in the order of their import paths, so this one, which imports
// logutil alone, comes first.
package etcdquiet

import "go.etcd.io/etcd/client/pkg/v3/logutil"

func init() {
	logutil.DefaultZapLoggerConfig.OutputPaths = nil
	logutil.DefaultZapLoggerConfig.ErrorOutputPaths = nil
}
