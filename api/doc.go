// Package api converts what agents, schedulers and the aggregator exchange between
// the plain structs of packages agent and svd and the protobuf messages of package
// spaziov1 (directory spazio/v1).
//
//	agent.Report -> FromReport -> wire -> ToReport -> agent.Report    node to scheduler
//	Heartbeat -> FromHeartbeat -> wire -> ToHeartbeat -> Heartbeat    the same, where nothing changed
//	agent.Bind   -> FromBind   -> wire -> ToBind   -> agent.Bind      scheduler to node
//	pods' keys   -> FromPlaceholders -> wire -> ToPlaceholders -> pods' keys   the same
//	Rooms        -> FromRooms  -> wire -> ToRooms  -> Rooms           scheduler to controllers
//	agent.Local  -> FromLocal  -> wire -> CheckLocal                  node to aggregator
//	agent.Fleet  -> FromFleet  -> wire -> ToFleet  -> agent.Fleet     aggregator to node
//	agent.UsageBatch -> FromUsage -> wire -> ToUsage -> agent.UsageBatch  node to profiler
//
// An aggregator merges a node's message as it is, and what aggregators send each
// other and keep on disk are the messages themselves; CheckLocal, CheckChunk,
// CheckStates and CheckHeader check their bounds.
//
// From functions trust their argument. To functions trust nothing: what they
// return is within the bounds below, or they return a *field.Error that names
// the field and its value. Inputs are never modified and results share no
// memory with them.
//
// Every function is safe for concurrent use.
package api

// Bounds of what is accepted from the wire. They keep a faulty or hostile peer
// from costing more than a message's worth of memory, or from moving sums by
// more than a node's worth.
const (
	// MaxName is the longest name of a node, schema or channel in bytes; a
	// Kubernetes node's name is a DNS subdomain of at most 253.
	MaxName = 253
	// MaxChannels is the largest number of channels and model dimensions.
	MaxChannels = 64
	// MaxAbsorbed is the largest number of pods in a report, four times what
	// the largest managed clusters allow on a node.
	MaxAbsorbed = 4096
	// maxBlock is the largest number of samples in a block.
	maxBlock = 1 << 20
	// MaxPods bounds avail, allowance and k in magnitude.
	MaxPods = 1e6
	// minCost and maxCost bound a known cost, maxCost its deviation too: an
	// exbibyte is about 1.15e18.
	minCost, maxCost = 1e-18, 1e18
)
