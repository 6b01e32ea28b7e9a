// Package agentd runs the node's agent: it samples the machine on a ticker,
// hands samples, pods and the fleet's model to the pure pipeline of package
// agent, and passes its reports on.
//
// One goroutine, that of [Daemon.Run], owns the pipeline. What comes from
// elsewhere (pod events, the aggregator, the schedulers' notices) waits in a
// mailbox that keeps the newest, so that nobody ever waits for anybody: a slow
// sample delays no scheduler and a dead scheduler no sample.
//
// [Main] is the command spazio-agent.
package agentd
