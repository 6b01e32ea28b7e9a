// Package kalman estimates, per channel, the headroom of a node at zero pods
// (its capacity C) and the headroom one pod takes (its cost c).
//
// # Model
//
// The headroom z = 1 − y of a channel falls with the pod count n:
//
//	z = C − c·n + noise of variance R,  c ≥ 0
//
// The thesis ("Hands at the Ready: Bringing Pronto to Kubernetes",
// L. Choteborsky, 2025, §4.2.4) writes signal = capacity + cost·n with a
// negative cost; we keep c positive. It puts both into two one-dimensional
// filters, which share one innovation without knowing of each other: both claim
// it, and the pair rings. Package sim/thesis has that pair and the thesis's other
// filters, behind the gates of this package, and compares them with this one.
//
// # Centred dual filter
//
// This package keeps the two scalar filters and centres the regressor, so that their
// errors are uncorrelated and each can take its own share. With n̄ the centre,
// x = n − n̄ and μ = C − c·n̄ the headroom at n̄, z = μ − c·x, and
//
//	ν = z − μ + c·x               innovation
//	S = P_μ + x²·P_c + R          its variance
//	c −= (x·P_c/S)·ν,  P_c *= (P_μ + R)/S
//	a = P_μ/(P_μ + R)
//	μ += a·(z − μ),    P_μ *= 1 − a
//	n̄ += a·(n − n̄),    C = μ + c·n̄
//
// Level and centre are the same running mean, with the gain of a scalar Kalman
// filter, of z and of n; the cost is a scalar filter on what remains. While n is
// constant x tends to 0: the level follows the headroom and the cost stands
// still, so a change of load from outside is not taken for one of cost.
//
// This is the two-dimensional filter. In the coordinates (μ, c) its P is
// diagonal, diag(P_μ, P_c), with gains K_μ = P_μ/S and K_c = −x·P_c/S; the
// measurement leaves the covariance P_μ·x·P_c/S. Moving the centre by δ changes
// it by −δ·P_c·(P_μ + R)/S, so it is 0 again for δ = x·P_μ/(P_μ + R) = a·x. The
// level there is μ + K_μν − δ·(c + K_cν) = μ + a·(z − μ), and its variance
// P_μ·R/(P_μ + R). A drift q of the cost, which leaves C alone, is added the
// same way: P_μ += n̄²·P_c·q/(P_c + q), n̄ −= n̄·q/(P_c + q), P_c += q.
//
// So this filter and the one with the matrix agree to rounding as long as no bound
// cuts in. The thesis finds its dual filter better than the two-dimensional one,
// which oscillated with its "large constants in the Q matrix"; under equal drifts
// and gates there is no difference to find. The centred form has the advantage
// that it needs two thirds of the time, P cannot cease to be positive, and the
// uncertainty of a sudden change splits into one of level and one of cost.
//
// # Gates
//
// The innovation test skips where ν²/S exceeds Gate, an
// outlier; the Patience-th outlier in a row is a change, so P grows until ν²/S
// = 1 and it is taken. The thesis has it, and skips each step while containers
// churn, too (§4.2.4, "halt estimations").
//
// # Churn
//
// Where pods live for seconds one comes or goes all the time. A node that skips
// what it reads meanwhile learns nothing, and one that accepts it mistakes the
// spikes of starts and stops, and pods that the count shows too early or too late,
// for what pods cost: on two processors single readings of a second were off by a
// quarter of the channel, and the cost fell to its floor within ten of them. So a
// reading in churn is taken, as one of variance
//
//	R + c²·(1 + n + 4κ²n + m²)
//
// n pods are a count looked at once, of variance n, and the one that comes or goes
// may show or not; each differs from c by κ·c, and some four readings show nearly
// the same pods; by m pods (Observation.Transitioning) the count has just changed, of which
// the headroom may show all or none. Level and centre hardly move by such readings,
// so that the cost is learnt from all that the pods take, from idle on, and not from
// how the readings differ, which errors of n would flatten.
//
// The pods of one such reading are gone by the next. So they leave the level's
// doubt (Pods that differ), the measured noise and the outliers in a row alone.
//
// # Full channels
//
// A usage ends at 1, so that C − c·n ≥ z is not read below z = 0: a full channel
// shows that pods take at least this, never at most. Taken as it stands it
// makes pods free, as with 30 of them on two cores, where the last 26 changed
// nothing; skipped it does the same, more slowly, for near full only those
// readings are left in which the pods happened to take less. So usage above
// idle, C − z, bounds what the n pods take from below:
//
//	c·n ≥ C − z
//
// A reading that breaks the bound, ν < 0, is taken like any other: it raises the
// cost, or lowers the level, each by its share. One that meets it, ν ≥ 0, is
// Censored and changes nothing. That is the update of a filter with a censored
// measurement (J. Tobin, "Estimation of Relationships for Limited Dependent
// Variables", 1958) with the expectation beyond the bound replaced by the bound.
//
// A reading is a bound if the usage is at least Saturation − .05. At a usage of ½ or more, where
// all processors are busy and the rest is waiting, it is also one if the estimate has the channel
// full because of its pods, but no more than 60 times in a row: the time in which some task waits
// alternates between ½ and 1 in groups of low weight, whatever waits. In churn the channel must be
// full even with a standard deviation more headroom than the estimate expects.
//
// A cost that has come down to its floor, or within two standard deviations of
// it, is no estimate: Estimate.Known is false, and the prior stands for it.
//
// # Unknown costs
//
// The cost drifts only when n has moved, and P_c never exceeds its prior: else
// an idle night would make the cost unknown by morning. R follows half the
// running variance of Δz at constant n. Estimate.Known is false, and the prior
// stands for it, until P_c is below Known of its prior variance. c is at least
// Floor of the prior, and C at least 0.
//
// # Pods that differ
//
// One c for all pods is a mean. What a single pod takes differs from it by a
// standard deviation κ·c (Config.Spread), so Δn pods that came or went move the
// level by an error of variance κ²c²·|Δn|, which stays as long as the pods do:
// it is added to P_μ. The filter then learns c from what each change of n shows
// once, not again from every second that the same pods run. Without it two pods
// that happened to be small made c known to a tenth, a fifth of what it was, and
// pooling with the fleet, which weighs by that certainty, did not correct it.
// Pods that were replaced by as many others do not show in n and stay unseen.
//
// # Channels, or one scalar
//
// PerChannel runs one filter a channel. The thesis's single signal along u₁ is
// the same estimator with one channel, fed with the headroom along u₁ as a share
// of the channel that u₁ loads most, h·max(u₁) with h = min (1 − y_i)/u₁_i
// (package capacity, Headroom): see the example of NewPerChannel. A cost per
// channel is the default because u₁ moves with the load, and its unit with it.
//
// # Pooling
//
// Pool shrinks an estimate towards the fleet's. It acts on the estimate, not on
// the filter, so that what a node sends to the fleet is its own finding and not
// the fleet's echo. Without pooling, one node with an underestimated cost
// offers most, is chosen most and attracts the whole queue.
//
// Types that do not speak of concurrent use are plain values.
package kalman
