// Package node is a node's agent as a library: it measures the machine it runs
// on, works out how many pods still fit and reports that to the schedulers, within the
// process of the program that embeds it. The program spazio-agent is flags around it.
//
// # Pipeline
//
// An [Agent] takes a sample ten times a second from its [Meter]; a
// telemetry.Reader is one, which reads Linux's /proc and control groups. Samples,
// and what a telemetry.PodSource reports of the pods, go to the pipeline of package
// agent, which reports once a second, and whenever the pods or the room for them
// change, how many pods fit. Each report goes to Config.OnReport and, by package
// publish, to every scheduler; the pipeline's model of the load goes to the
// aggregator, which answers with the fleet's. Schedulers say over their streams
// which pods they have bound to the node, so that the load of a start is expected, and which are
// placeholders; there is no other way to state that.
//
// # Energy
//
// With Config.Energy the goroutine that samples reads, behind every tenth sample, what
// the machine has taken in joules and its CPU time, and every five seconds those of its
// pods. It learns the power by load, which takes loads that differ: until it knows what
// a core more takes it reports no power. Reports carry the power and what each pod took;
// metrics, spazio_energy_…, show the joules of the node, of each pod and what no pod is charged,
// which sum up.
//
// # Guests
//
// A [Sharing] is another part, for a host of virtual machines, with or without an Agent
// beside it. Once a second it calls a share.Host, of package energy/share, which divides the
// machine's energy among the guests and publishes each one's part as a counter. A Sharing
// shows what came of it as metrics and by [Sharing.Handler]. It is Linux only, as the
// counters are: elsewhere [NewSharing] fails. Run or Close is called once.
//
// # What it starts and stops
//
// [New] starts nothing. [Agent.Run] starts one goroutine that samples, one for the
// pod source, those of a stream for each scheduler, its timer's among them, and for
// the aggregator, and one that writes the recording; when it
// returns they have ended and what they opened is closed. The Meter is its
// caller's to close. Nothing of the process is touched: no signals, no limits, no
// priority, no global registry or logger, no listening. An embedder that has an
// HTTP server mounts [Agent.Handler] and asks [Agent.Health] and [Agent.Ready]; package
// endpoint is such a server.
//
// # What it needs of the host
//
// Of its own an Agent needs nothing: it builds and runs on any system, and what the Meter
// and the PodSource read is theirs to say. With those of package telemetry it is
// Linux with proc and control groups mounted, those of the host where it runs in a
// container. To reach schedulers and an aggregator elsewhere it needs TLS, see
// package api/transport.
//
// A Meter, a PodSource and a Clock of one's own make a simulated node.
//
// Config and the reports are never modified by the Agent, and what it hands out is
// shared: don't modify it either.
package node
