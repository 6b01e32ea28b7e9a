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
// one node in a hundred to turn u₁ to wherever it likes. Options.Clip bounds it
// further (Huber's weights, one step from the median):
//
//	Ĝ  = weighted median of the Gᵢ, element by element
//	Dᵢ = ‖Gᵢ − Ĝ‖, Frobenius;  R = the distance within which .9 of the weight is
//	sᵢ = min(1, c·R/Dᵢ)
//	G  = Σ pᵢsᵢGᵢ / S,  S = Σ pᵢsᵢ ≥ .9
//
// It is a mean of semidefinite matrices and so one itself, does not depend on
// order, and is the plain one where no node is farther than c·R. Let nodes of
// weight share ε < S be hostile, and let Gₕ be the same mean of the others. From
// S·G = Sₕ·Gₕ + Σ pᵢsᵢGᵢ over the hostile nodes follows
//
//	G − Gₕ = Σ pᵢsᵢ(Gᵢ − G) / Sₕ        sum over the hostile nodes
//	sᵢ‖Gᵢ − G‖ ≤ sᵢDᵢ + ‖Ĝ − G‖ ≤ c·R + ‖Ĝ − G‖ =: Reach
//	‖G − Gₕ‖ ≤ E = ε·Reach/(S − ε)
//
// and by Davis and Kahan, with λ₁ ≥ λ₂ the largest eigenvalues of G, the angle
// between the directions of G and Gₕ is at most
//
//	sin ∠(u₁, u₁ₕ) ≤ E/(λ₁ − λ₂ − E)        if 2E < λ₁ − λ₂
//
// All of it can be computed without knowing the hostile nodes: Global.Sway does. While
// fewer than a tenth are hostile, R and the elements of Ĝ are within what honest nodes
// have, so a hostile node cannot widen its own bound. With c = 2 and one node in a hundred
// the bound is .1° to 9° in fleets that are all alike, idle, half loaded, one
// fifth loaded, of two kinds, or spread over two decades; without clipping it
// ranges to 90°, and so does what a liar achieves.
//
// The price: an honest minority below a tenth cannot be distinguished from liars. Where
// one node in twenty is loaded and the others are idle, the loaded ones, and 97 %
// of the trace of G with them, are clipped away; from one in ten on nothing is
// lost. A fleet with few loaded nodes is common and a hostile agent is not, so
// clipping is off by default. Centred models are clipped by the distance of (Gᵢ, μᵢ),
// without a bound on what is left, for what pulls the mean pulls G twice.
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
