// Package service is the controllers of test beds to embed: package controller's in a
// manager of their own, with the nodes' room from a scheduler, the external scheduler's
// interface (module external on package backend), metrics and health. The
// program spazio-testbed is flags around it.
//
//	s, err := service.New(ctx, service.Config{LeaderElect: true, MetricsListen: ":9704"})
//	err = s.Run(ctx)
//
// New opens listeners and begins to follow the scheduler, if one is named; Run starts all
// else and waits for its end. Of the process it touches nothing: no signals, no flags.
// controller-runtime logs through its own logger, which is the embedding program's to set,
// and counts in its own registry, which is shown beside the controllers' metrics.
//
// Types that do not speak of concurrent use are plain values.
package service
