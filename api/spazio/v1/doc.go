// Package spaziov1 has the protobuf messages and gRPC services by which Spazio's programs
// speak with each other, generated from the .proto files beside it, which say of each field
// what its absence means.
//
//	SignalService  agents report to schedulers what their nodes have room for, and get binds
//	ModelService   agents give the aggregator their nodes' models, and get the fleet's
//	PeerService    an aggregator's replicas send each other what they have
//	RoomService    schedulers report to the controllers of test beds what nodes have room for
//	UsageService   agents report to the profiler what pods take
//
// Package api converts these messages from and to the plain structs of the libraries, and
// holds what comes from the wire to its bounds: programs should go by it. "The thesis" is
// the one that the root package names.
//
// Messages are not safe for concurrent use while a goroutine writes to them; clients are.
package spaziov1
