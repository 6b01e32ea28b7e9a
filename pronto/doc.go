// Package pronto says when a node should be given no more work, by Pronto's
// rejection signal: peaks in the projections of its load on the principal
// directions of the load so far.
//
// # The signal
//
// The source is A. Grammenos, E. Kalyvianaki, P. Pietzuch, "Pronto: Federated Task
// Scheduling", 2021, as L. Choteborsky presents it ("Hands at the Ready: Bringing
// Pronto to Kubernetes", 2025, ch. 2). A node's samples y ∈ ℝ^d update, block by
// block, a model of their principal directions U (d×r) and singular values σ: a
// centred svd.Model, with forgetting, that merges with those of other nodes.
// Each sample is projected,
//
//	v = Uᵀy
//
// and each of the r projections has a detector of its own, a smoothed z-score over
// the last w of its values: it flags
//
//	f_j = ±1  if |v_j − mean| > α·deviation, and 0 otherwise,
//
// and then takes v_j into its window, or of a flagged one a share only, the
// influence, and otherwise the value before it. The peaks, weighed by their
// directions, are the signal:
//
//	R = Σ σ_j·|f_j| / Σ σ_j        reject if R ≥ θ
//
// With [Config.Signed] peaks below the mean count against those above it; with
// [WeightEnergy] a direction weighs by its variance, over the trace.
//
// # What it is not
//
// It shows change from what was before, not whether a node is full or empty: a node
// that has been full for w samples is not rejecting, and one on which a pod has
// just started is. Package capacity answers how much room there is.
//
// # Federation
//
// [Tracker.Model] is what a node sends to its fleet, svd.Merge makes one of many, and
// [Tracker.Adopt] has the result replace the directions in use. Centred models
// merge about their joint mean, so that merging what nodes know is what one node
// would know that had seen all their samples, as far as nothing was truncated.
//
// # Where this goes beyond the source
//
//   - A model's directions change with each block: they turn, trade places, or
//     change sign. The detectors' memory is turned with them (v' = U'ᵀU·v), for
//     otherwise each block would be a peak.
//   - Projections are of the sample itself, not of what it differs by from the
//     mean: that would add one constant to a whole window until the next block, and
//     a jump at the block.
//   - A constant signal, the deviation of which is 0 or rounding, flags nothing
//     that is nearer than [Flat] to it.
//
// # Conventions
//
// Time is an argument; nothing here reads a clock.
// Inputs are never modified and never retained. Invalid input yields a
// [*field.Error] and changes nothing; nothing panics. A function whose name ends in
// To writes to its first argument and does not allocate once that has grown.
//
// Types that do not speak of concurrent use are plain values.
package pronto
