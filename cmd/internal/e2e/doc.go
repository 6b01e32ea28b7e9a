// Package e2e holds, in its directories, the tests that run the parts together: a
// real API server, the real scheduler, real gRPC between agents, scheduler and
// aggregator, each role inside the test process or as a process of its own.
//
//	comparison  spazio-demo compare, on this machine and on a cluster
//	deploy      the manifests: taken, admitted, and no right too few or too many
//	documents   what pages say of commands: flags, arguments and values as they are
//	external    the interface /external/v1 keeps to its contract
//	failures    agents, schedulers, nodes and the API server that end or are slow
//	install     spazio's commands on clusters of every kind
//	profiles    the profiler with its objects, and schedulers that decide by them
//	pronto      nodes that follow Pronto's rejection signal, from a sample to a bind
//	strangers   callers that lie, forge or only take up room
//	testbeds    test beds: their definitions, what jobs and schedulings do on simulated nodes,
//	            and what is left of that when any part dies, leaves or lies
//	waking      pods that wait, and places that become free for them
//	cluster     what those tests run on, and manifests, which reads what they install
//
// failures.TestManyPendingPods is longer than a test should be with the number of
// pods it is meant for:
//
//	go test -run ManyPending -v ./internal/e2e/failures -pending 10000
package e2e
