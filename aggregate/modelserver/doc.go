// Package modelserver is the gRPC ModelService over package aggregate.
//
//	Push: check → mailbox (newest per node, bounded) → latest published answer
//	Run:  mailbox → aggregate → one eigen-decomposition per tick → publish
//
// A push never waits for a merge: it answers with the global model of the last
// tick, which may not hold what was just pushed. That trades consistency for
// latency (thesis §4.3).
//
// A malformed push is answered with InvalidArgument and the name of the field,
// a push to a full mailbox with ResourceExhausted; both leave the state as it
// was.
package modelserver
