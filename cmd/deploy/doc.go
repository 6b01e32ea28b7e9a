// Package deploy is Spazio's manifests, and what puts them into a cluster and
// takes them out again: the same objects as Helm makes of the
// chart beside it, by Helm's own library.
//
//	config := deploy.Config{Registry: "registry.example/spazio", Components: []string{"cgroup-v1"}}
//	cluster, err := deploy.Connect(restConfig)
//	server, err := cluster.Version(ctx)
//	config.Kubernetes, err = server.Scheduler()
//	problems := config.Preflight(server)
//	objects, err := config.Objects()
//	more, err := cluster.Preflight(ctx, objects)
//	err = cluster.Install(ctx, objects, deploy.Options{})
//	err = cluster.Uninstall(ctx, deploy.Options{})
//
// Everything is asked again of the API server at every step, so that what was
// interrupted is run again; nothing is kept elsewhere. A Lease in the system's
// namespace keeps two installations from mixing.
//
// Values of the chart that [Config] lacks can be set with Helm only. Package cmd/deploy/check reports
// whether what was installed works.
//
// Types that do not speak of concurrent use are plain values.
package deploy
