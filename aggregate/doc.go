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
// Centred models, whose nodes push their mean μᵢ besides, merge about the joint mean
// μ = Σ pᵢμᵢ, pᵢ = wᵢaᵢ/Σ wa: G = Σ pᵢ(Gᵢ + (μᵢ−μ)(μᵢ−μ)ᵀ), again what svd.Merge
// yields. They do not merge with others: the first node of a schema and dimension decides
// which kind it is, and those of the other kind are refused until that node is gone.
//
// The thesis merges each arriving model half and half into the global one (§4.3);
// the last to arrive then weighs ½, the one before ¼. Package sim/thesis does so.
//
// # A node that lies
//
// A push is checked field by field, so that the worst a node can say is bounded:
// tr Gᵢ ≤ d, as samples are in [0,1], and wᵢ ≤ M·B. Its share of the weight is
// pᵢ = wᵢaᵢ / Σ wa. In an idle fleet, whose G is small, that is still enough for
// one node in a hundred to turn u₁ to wherever it likes. A rule that took weight from what
// is far from the median would take it from the few loaded nodes of an idle fleet, too.
//
// The cost prior of a channel is the precision-weighted median of the nodes'
// own estimates. A node's precision counts up to four times the median one, so
// that a node that claims certainty does not decide: with one hostile node in a hundred, the
// prior stays between the 46th and the 54th hundredth of the honest weight.
//
// # Bounds
//
// What is held is bounded in nodes, groups and bytes, and what one caller may
// hold in a share of them (Options.CallerShare): a caller that invents names and
// schemas fills that share and no more. What other replicas and restarts bring counts
// for all.
//
// # Replicas and restarts
//
// What is kept of a node can be taken out as an Entry and put into another
// Aggregator: Restore after a restart, Merge at another replica, which gets it
// by Changes. The newer push of a node by (incarnation, sequence) stays, so
// that replicas that receive the same pushes agree whatever the order; but of two
// that are farther apart than Options.Silence the later stays, or one claim of a
// high incarnation, or a node's clock that is set back, would mute it. An entry
// has the age of a push, not its time: clocks need not agree. What time an
// entry takes to travel makes the push seem younger, by θ half-lives at most
// between any two replicas, where θ·half-life is a message's delay plus 1/1024 of
// a half-life; their models then differ by ‖ΔG‖ ≤ (2^θ − 1)·tr G. A node as good
// as forgotten is no longer handed on or taken over (Merge), so it does not come
// back.
//
// Inputs are never modified or kept.
//
// Types that do not speak of concurrent use are plain values.
package aggregate
