// Package controller lets a profiler's Store follow the API server's pods and
// profiles, and writes profiles and checkpoints while it holds the lease.
//
//	c, err := controller.New(controller.Config{Store: store, REST: config})
//	err = c.Run(ctx)
//
// Package service does that with what belongs around it: the server of the agents
// (package usageserver), metrics and health.
//
// Pods and profiles are followed on every replica, by reflectors that keep none of
// them: the Store has what matters, and an informer's cache of 150,000 pods would
// take more than all else. What was published is followed too, so that a new leader
// writes only what differs.
//
// One replica writes, at most Config.WriteRate requests a second, in the order that
// the Store says; what waits is written as it is when its turn comes. After a failed
// write the workload waits for some seconds, and after several in a row all do.
//
// Rights are what it needs; those that are missing are named in the log and in a
// metric, at the start and every five minutes.
//
// Types that do not speak of concurrent use are plain values.
package controller
