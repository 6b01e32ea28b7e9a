// Package agentd runs the node's agent: it samples the machine on a ticker,
// hands samples, pods and the fleet's model to the pure pipeline of package
// agent, and passes its reports on.
//
// One goroutine, that of [Daemon.Run], owns the pipeline. What comes from
// elsewhere (pod events, the aggregator, the schedulers' notices) waits in a
// mailbox that keeps the newest, so that nobody ever waits for anybody: a slow
// sample delays no scheduler and a dead scheduler no sample. Who asks for the
// reasons of the last report ([Daemon.Why]) is answered through it, too.
//
// The pipeline lives by a steady clock: the wall clock at the start, advanced by
// the monotonic one. Steps of the wall clock change no interval; reports carry
// its time all the same, since other machines read it. The monotonic clock and
// the kernel's counters stand still in a suspend alike, yet the one sample
// across it is dropped, as it is whenever the wall clock gets a second ahead.
//
// A [Watchdog] says when samples can't keep their rate.
//
// [Main] is the command spazio-agent.
package node
