// Package controller lets a profiler's Store follow the API server's pods and
// profiles, and writes profiles and checkpoints while it holds the lease.
//
//	c, err := controller.New(controller.Config{Store: store, REST: config})
//	err = c.Run(ctx)
//
// Package cmd/profiler/service adds what belongs around it: the server of the agents
// (profiler.Server), metrics and health.
//
// Every replica follows pods and profiles, by reflectors that keep none of them: the Store
// has what matters, and an informer's cache of 150,000 pods would take more memory than all
// else. What was published is followed too, so that a new leader writes only what differs.
//
// One replica writes, at most Config.WriteRate requests a second, in the order of the
// Store; a workload is written as it is when its turn comes. After a failed write the
// workload waits for some seconds, and after several in a row all do.
//
// Rights that are missing are named in the log and in a metric, at the start and every five
// minutes.
//
// # Resizing
//
// With Config.Resize the requests of running pods follow what is recommended, of containers
// that have a request of the resource already, and never beyond their limits, so that the
// pod stays of the class Burstable; pods of other classes are left alone. A pod is changed
// at most once in ten minutes, whoever did so last, and by a tenth at least. Memory is never
// lowered below what the pod was seen to take. A pod whose last resize is not done, or can
// never be on its node, is left alone, as is a container that a resize would restart.
//
// # Vertical Pod Autoscaler
//
// With Config.VPAName the objects that name it as their recommender (spec.recommenders) get
// its recommendations as their status.
//
// Types that do not speak of concurrent use are plain values.
package controller
