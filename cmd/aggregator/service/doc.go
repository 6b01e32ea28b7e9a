// Package service is an aggregator to embed: the ModelService of package modelserver on a
// gRPC server that knows its callers, with its exchange with other replicas, its
// snapshots, metrics and health. The program spazio-aggregator is flags around it.
//
//	s, err := service.New(ctx, service.Config{Listen: "127.0.0.1:9692", MetricsListen: ":9701"})
//	err = s.Run(ctx)
//
// New opens listeners and starts nothing; Run starts all and waits for its end. Nothing
// of the process is touched: no signals, no flags, no global registry or logger.
//
// Types that do not speak of concurrent use are plain values.
package service
