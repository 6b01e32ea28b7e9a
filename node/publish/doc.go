// Package publish carries what a node's agent knows to those who use it:
// Signals streams reports to every scheduler replica, Models pushes the local
// model to an aggregator and brings back the fleet's.
//
// A scheduler is listed or found by DNS: a name stands for all the replicas it
// has addresses of. Each has a stream of its own. The name is looked up again
// every few seconds and when a stream fails; what a lookup no longer returns is
// let go, and an outage of DNS changes nothing.
//
// A stream to a scheduler that takes heartbeats carries reports in full when they
// differ from the last one by more than a small tolerance, otherwise a heartbeat
// every 2 to 2.5 s: heartbeats decides. Each new stream begins with a full report.
//
// Neither ever holds up the agent: Send and Offer return at once and keep the
// newest value alone, since a report replaces the one before. A peer that is
// away is retried with jittered exponential backoff, each on its own, and gets
// the newest value as soon as it is back.
//
// Types that do not speak of concurrent use are plain values.
package publish
