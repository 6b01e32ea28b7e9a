// Package server is a gRPC server that knows its callers: what an aggregator and a profiler are
// made of. It listens by package api/transport, with its limits on what callers can make it hold.
// Agents show the token of their pod, which the API server reviews (package api/kube/identity);
// other replicas of the server show a certificate of its service. One table ([Right]) defines who
// may call which method. The server answers health checks, exports metrics to Prometheus, and
// shuts down in order.
//
//	s, err := server.New(ctx, server.Config{Listen: ":9692", …})
//	spaziov1.RegisterModelServiceServer(s, models)
//	s.SetServing()
//	err = s.Run(ctx)
//	…
//	caller, err := server.CallerFrom(ctx) // in a method
//
// Types that do not speak of concurrent use are plain values.
package server
