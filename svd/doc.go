// Package svd keeps a running singular value decomposition of a stream of
// telemetry samples: incremental, not centred by default, with forgetting, and mergeable
// between nodes. It answers "in which direction, and how much, do the
// resources of this node typically load up?"
//
// # Model
//
// A sample y ∈ ℝ^d holds the usage of d channels, 0 empty and 1 full. A block
// is b samples, the columns of the d×b matrix A. A [Model] holds the left
// singular vectors U (d×r) and singular values σ₁ ≥ … ≥ σ_r of all samples
// seen, older blocks weighing less. Its mass m counts the blocks seen in the
// same way. [Update] adds a block of b' ≤ b samples, of mass s = b'/b, to what
// forgetting leaves of the past, w·m with w = α/(α+β) (the thesis, eq. 3.6):
//
//	m' = w·m + s
//	U'Σ'Vᵀ = svd([√(w·m/m')·UΣ  √(s/m')·√(b/b')·A])
//
// V is never formed: with B the concatenation, BBᵀ = U'Σ'²U'ᵀ and
//
//	m'·BBᵀ = w·m·UΣ²Uᵀ + AAᵀ
//
// so the second moments are the weighted mean over the samples, σ always
// stands for b of them, and σ₁/√b is their weighted root mean square along
// u₁. A sample counts half as much after ln 2/(−ln w) blocks
// ([Options].HalfLife). The mass tends to 1/(1−w): from then on a full block
// takes the share 1−w, as in the thesis, and the energy λ_i = σ_i² of the past
// decays by w a block. Before, a block counts for as much as it has seen: the
// first is the whole of the model, the second about half of it, and a partial
// block has the share of its samples.
//
// [Merge] mixes second moments in the same way, weighted by mass, and an
// update is the merge with the model of the new block. Untruncated
// it is commutative and associative, so a fleet's model does not depend on
// who reported first. [Blend] mixes by a share that the caller chooses.
//
// # Rank and energy
//
// λ_i is the energy of b samples along u_i ([Model.Energy]). An update that
// keeps fewer than all directions discards the energy of the others; the
// [Model.Residual] remembers how much, so that the trace still mixes exactly
// and [Model.Explained] is the share of all energy, not of what was kept.
// With energy bounds in [Options] the rank adapts: it grows at once to the
// least at which the share is not below the lower bound, shrinks only when the
// share exceeds the upper, and rests between the two. (Federated PCA, A.
// Grammenos et al., NeurIPS 2020, bounds the share σ_r/Σσ of the last
// direction instead and moves by one a block; the share of the whole is what
// a user can state, and it holds after every block.)
//
// # Centring
//
// PCA, and Pronto, the thesis's point of departure (§3.1, §3.2), decompose
// samples less their mean μ. With [Options].Centre the model keeps the running
// mean, ȳ the mean of the block, and a column corrects for its move, as in the
// incremental PCA of D. Ross et al., "Incremental Learning for Robust Visual
// Tracking", 2008:
//
//	p = w·m/m'
//	μ' = p·μ + (1−p)·ȳ
//	U'Σ'Vᵀ = svd([√p·UΣ  √((1−p)·b/b')·(A − ȳ1ᵀ)  √(p(1−p)·b)·(ȳ − μ)])
//
// as the scatter of a mixture is the mixture of the scatters plus that of the
// means. It is exact: σ_i² is b times the weighted variance along u_i, by the
// weights of the samples seen. The mean is taken over m·b samples by weight.
// [Merge] and [Blend] do likewise with the two models' means. Centred and other
// models do not mix: what the latter lack is their mean. A centred u₁ is the
// direction in which the load varies most; neither non-negative nor a load, so
// [Model.DemandTo] of it is a standard deviation.
//
// # Where this differs from the thesis
//
// The source is L. Choteborsky, "Hands at the Ready: Bringing Pronto to
// Kubernetes", 2025.
//
//   - Eq. 3.1 writes the quantity that u_i maximises as xᵀAᵀAx. With samples
//     as columns it is xᵀAAᵀx = ‖Aᵀx‖² = Σ_j (a_jᵀx)².
//
//   - §3.1 equates σ_i with the variance along u_i. The energy Σ_j (a_jᵀu_i)²
//     is λ_i = σ_i², and it is a variance only for centred samples, and then
//     divided by n−1.
//
//   - Bound 3.9, min ≤ Var_i(B) ≤ max, is false for the i-th value in both
//     readings of it: A = [e₁], A' = [e₂], α = β gives λ₁(B) = ½ although
//     λ₁(A) = λ₁(A') = 1. Weyl's inequalities are what holds:
//     λ_i(B) ≥ max(α·λ_i(A), β·λ_i(A'))/(α+β) for all i, and
//     λ_(i+j−1)(B) ≤ (α·λ_i(A) + β·λ_j(A'))/(α+β) for all i, j with i+j−1 ≤ d.
//
//     The trace Σ_i λ_i mixes exactly as long as nothing is truncated, and
//     σ₁ ≤ √(b·d) for samples in [0,1]. So σ does stay bounded.
//
//   - In §3.4 u₁ is all positive or all negative. By Perron and
//     Frobenius, for samples ≥ 0 a non-negative u₁ exists; it is unique and
//     strictly positive only where the graph of channels that are active
//     together is connected. On a tie of σ₁ (samples e₁ and e₂) any rotation
//     of the vectors is a decomposition. [Model.DirectionTo] then takes P·1
//     normalised, P the projector on the top eigenspace: P is a sum of pp'
//     over non-negative p, so the direction is non-negative and independent
//     of the basis found. Truncation to 1 < r < d discards energy unevenly
//     and can make u₁ of mixed sign; hence r = d by default up to d = 16.
//
//   - Eq. 3.10 takes √σ₁·u₁ for one more load. That is right only where σ₁
//     denotes λ₁: with singular values, doubled usage would look √2 larger.
//     [Model.DemandTo] returns σ₁/√b·u₁, in the unit of the samples and
//     independent of the length of a block.
//
//   - §4.3 folds models into the global one as they arrive, half and half,
//     which weighs the k-th last by 2^−k. [Merge] weighs by mass.
//
// # Computation
//
// If U is square it is a basis in which the past is diagonal, and only the block
// has to be projected:
//
//	W = [√(w·m/m')·Σ  √(1/m')·UᵀA]
//	Wᵀ = QR          Householder, skipping the zeros of the diagonal part
//	Rᵀ·K = J·Σ'      one-sided Jacobi on the columns of Rᵀ
//	U' = U·J
//
// followed by a stable sort, one pass of modified Gram–Schmidt, so that
// orthonormality does not drift over any number of updates, and the sign
// rule: the sum of each column is ≥ 0. A U that is not square is concatenated
// as it stands. In the basis of the past a Jacobi iteration finds small singular
// values to a relative accuracy that a bidiagonalisation, as LAPACK's, does not
// reach.
//
// Singular values of zero are kept: their vectors complete the orthonormal
// columns of U.
//
// # Conventions
//
// Matrices are column-major unless said otherwise. Inputs are never modified
// and nothing is retained. A function whose name ends in To writes to its
// first argument, which may share storage with its other arguments, and is
// the allocation-free twin of the function without it. Invalid input yields an
// error that names it before anything is written; nothing panics.
//
// Types that do not speak of concurrent use are plain values.
package svd
