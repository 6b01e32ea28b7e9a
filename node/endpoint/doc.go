// Package endpoint is the HTTP server of a program's metrics, health and what
// else it shows: a node's agent's, and that of any other of Spazio's programs.
//
//	s, err := endpoint.NewServers(ctx, endpoint.ServersConfig{
//		Shown: endpoint.Config{
//			Gatherer: registry, Health: agent.Health, Ready: agent.Ready,
//			Handlers: map[string]http.Handler{"GET /debug/why": agent.Handler()},
//		},
//		Metrics: ":9700", Debug: "127.0.0.1:9691",
//	})
//	err = s.Run(ctx)
//
// Where several programs run in one process, each shows its metrics by [Targets].
//
// The rule is: metrics and probes are served to every client that can connect
// (newMetrics), anything else to loopback alone, where callers are not authenticated
// ([NewDebug]).
//
// Types that do not speak of concurrent use are plain values.
package endpoint
