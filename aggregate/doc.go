// Package aggregate merges the local models of a fleet's nodes into one global
// model per schema, and their pod costs into one prior. It is pure state: time
// is an argument, nothing is locked, nothing is sent. Package modelserver puts
// it behind gRPC.
//
// A node pushes U, σ, its mass m and block size b; no sample leaves it. What is
// merged are second moments, which add:
//
//	Gᵢ = UᵢΣᵢ²Uᵢᵀ/bᵢ          d×d, mean squares of a sample of node i
//	wᵢ = min(mᵢ·bᵢ, M·B)      its weight in samples
//	aᵢ = 2^(−age/half-life)    age since its newest push
//	G  = Σ wᵢaᵢGᵢ / Σ wᵢaᵢ    the fleet's; its model has Σ² = B·λ(G), mass Σ wᵢaᵢ/B
//
// so the result does not depend on the order of arrival, a node that pushes
// often counts once, and one that fell silent fades and is forgotten. The mass
// is self-declared and so capped at M = 1/(1−w), what a stream with forgetting
// factor w tends to. By default, at equal blocks and ages, G is what merging
// all models by svd.Merge yields.
//
// A schema names the channels and their options. Models of different schemas,
// or of different dimensions under one schema, never meet.
//
// Alternatively the Sequential policy merges each arriving model half and half
// into the global one, as the thesis does (§4.3); the last to arrive then
// weighs ½, the one before ¼.
//
// The cost prior of a channel is the precision-weighted median of the nodes'
// own estimates: one wrong node, or a few, can't move it far.
//
// Inputs are never modified or kept.
package aggregate
