// Package service is the upstream descheduler with the plugin SpazioRelief, to embed: a [Descheduler]
// evicts pods from nodes that measure themselves as too full, if another node has room for them. It
// receives the agents' reports as one more replica of the scheduler does. Package relief decides; the
// descheduler's own evictor decides which pods may be evicted, and evicts them.
//
// Types that do not mention concurrent use are plain values.
package service
