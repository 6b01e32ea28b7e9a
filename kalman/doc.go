// Package kalman estimates, per channel, the headroom of a node at zero pods
// (its capacity C) and the headroom one pod takes (its cost c).
//
// # Model
//
// The headroom z = 1 − y of a channel falls with the pod count n:
//
//	z = C − c·n + noise,  c ≥ 0
//
// The thesis ("Hands at the Ready: Bringing Pronto to Kubernetes",
// L. Choteborsky, 2025, §4.2.4) writes signal = capacity + cost·n with a
// negative cost; we keep c positive. Its two one-dimensional filters share one
// innovation without knowing of each other: both claim it, and the pair rings.
//
// # Centred dual filter
//
// Centred keeps the two scalar filters of the thesis and centres the regressor,
// which makes their errors independent, so that each can take its own share.
// With n̄ the running mean of n, x = n − n̄ and μ the headroom at n̄:
//
//	ν = z − μ + c·x                 innovation
//	S = P_μ + x²·P_c + R            its variance
//	K_μ = P_μ/S,   K_c = −x·P_c/S   gains
//	μ += K_μ·ν,    P_μ = (1 − K_μ)·P_μ
//	c += K_c·ν,    P_c = (1 + K_c·x)·P_c
//	δ = a·(n − n̄), n̄ += δ, μ −= c·δ,  C = μ + c·n̄
//
// While n is constant x tends to 0: the level follows the headroom and the cost
// stands still, so a change of load from outside is not taken for one of cost.
//
// The thesis's own forms (Naive, Delta, Joint) and recursive least squares stand
// beside it as Config.Method, under the same gates. BenchmarkMethods prints the
// error of avail of each on synthetic regimes.
//
// # Gates
//
// A step is skipped while containers churn (the spikes of their start are not
// the cost of a pod), while the channel is saturated (its headroom is censored:
// it would read 0 at any n), and where ν²/S exceeds Gate, an outlier; the
// Patience-th outlier in a row is a change, so P is inflated and it is taken.
// Process noise is added to P_c only when n has moved, and P_c never exceeds
// its prior: else an idle night would make the cost unknown by morning.
//
// # Pooling
//
// Pool shrinks an estimate towards the fleet's. It acts on the estimate, not on
// the filter, so that what a node tells the fleet is its own finding and not
// the fleet's echo. Without pooling, one node with an underestimated cost
// offers most, is chosen most and attracts the whole queue.
package kalman
