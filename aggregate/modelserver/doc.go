// Package modelserver is the gRPC ModelService and PeerService over package
// aggregate.
//
//	Push:     check → queue (newest per node, bounded) → latest published answer
//	Run:      queue → aggregate → one eigen-decomposition per tick → publish
//	Peers:    every interval, from each other replica: what changed there → aggregate
//	Snapshot: aggregate → file → aggregate of the next process
//
// A push never waits for a merge: it answers with the global model of the last
// tick, which may not hold what was just pushed. That trades consistency for
// latency (thesis §4.3).
//
// A malformed push is answered with InvalidArgument and the name of the field;
// it leaves the state as it was. The queue keeps the newest push of each node:
// a node that is in it always gets in, the place of its last push is taken. A
// push of a further node to a full queue is answered with ResourceExhausted and
// not kept; the node pushes again later. A half-full queue is emptied without
// waiting for the tick.
//
// # Replicas
//
// Every change of a node's state has a number of the replica it happened at, its
// cursor. A replica asks each of the others for what changed since the cursor it
// has of that one's process, a random id, and gets the states themselves, in
// chunks, without those that it sent itself; of another process it starts from
// the beginning. So a state costs one message a link, nothing is sent where
// nothing changes, what was interrupted goes on where it was, and after a
// partition or a restart every replica has everything within two intervals: one to
// read from those that can be reached, one for what those have received meanwhile.
// Package aggregate documents which of two states stays, and how far the models of
// replicas can be apart.
//
// The states of a replica pass the same checks as a push, and are read only in answer
// to a call: clients that may push cannot set the states of others' nodes this way.
//
// Types that do not speak of concurrent use are plain values.
package modelserver
