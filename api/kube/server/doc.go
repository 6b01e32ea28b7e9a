// Package server is a gRPC server that knows its callers: what an aggregator and a
// profiler are made of. It listens by package api/transport, with its limits on what
// callers can make it hold; asks the API server whose token an agent shows (package
// api/kube/identity) and which right that gives (api/kube/access); answers health
// checks; shows all of it to Prometheus; and ends in order.
//
//	s, err := server.New(ctx, server.Config{Listen: ":9692", …})
//	spaziov1.RegisterModelServiceServer(s, models)
//	s.SetServing()
//	err = s.Run(ctx)
//
// Types that do not speak of concurrent use are plain values.
package server
