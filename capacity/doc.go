// Package capacity answers how much more fits on a node before one resource
// is full: in typical loads (the signal k), in pods (the availability), and in
// pods ahead of what measurements confirm (the allowances).
//
// # Signal
//
// y ∈ [0,1]^d is the usage of d channels, 0 empty and 1 full; q ≥ 0 is the
// demand of one more typical load, from the model of recent load
// (svd.Model.DemandTo: q = s·u₁, s = σ₁/√b). The signal is how often q still
// fits:
//
//	k = sup { k : y + k·q < 1 }
//
// Every channel with q_i > ε is below 1 as long as k < (1 − y_i)/q_i, and the
// first to be full decides:
//
//	k = min over {i : q_i > ε} of (1 − y_i)/q_i,  clamped to [0, Max]
//
// after eqs. 3.10 and 3.11 of the thesis ("Hands at the Ready: Bringing Pronto
// to Kubernetes", L. Choteborsky, 2025). We differ in the scale of q: the
// thesis takes √σ₁·u₁, which is a root mean square only where σ₁ denotes the
// eigenvalue λ₁; with singular values a doubled usage would look √2 larger
// only. And b does not "just scale k": blocks may be partial. Where the thesis
// leaves k open we choose: a full channel that q does not touch makes k zero,
// q = 0 gives Max with the flag NoModel.
//
// Headroom is k·s, the same room in absolute units.
//
// # Availability
//
// With h_i = 1 − y_i the headroom of a channel, C_i its headroom at zero pods
// and c_i > 0 the cost of a pod (package kalman estimates both), n the pods now
// and n₀ the pods that y has measured (eqs. 3.12 and 3.13):
//
//	signal mode  h_i/c_i + n₀ − n          model mode  C_i/c_i − n
//	avail = min over channels of min(signal mode, model mode)
//
// Both follow from h = C − c·n: h_i/c_i pods fit beside the n₀ measured ones,
// C_i/c_i on an empty node. We differ from the thesis in four ways, each found
// necessary in simulation.
// The signal caps the model at all times: the thesis switches to the model while
// containers churn (package sim/thesis), so that a node in constant churn offers its
// modelled room though it is full. The room is counted per channel, not along
// u₁. The cost is raised by its standard deviation, c⁺ = c + g·sd(c): the node
// with the most underestimated cost attracts the most pods, so caution has to
// stand in the denominator. And a node with every channel below ½ offers at
// least one pod, or a bad estimate would lock it out.
//
// # Pods that differ, and a reserve
//
// The room above is counted in mean pods. Where pods differ by a standard
// deviation σ (Channel.PodSD), u of them take u·c ± √u·σ, so we count
//
//	U(h) = the u ≥ 0 with u·c⁺ + √u·g·σ = h
//	signal mode  U(h) + n₀ − n             model mode  U(C − c⁺·n)
//
// where U(h) = 0 for h ≤ 0, and where the n pods that run take more than C by
// themselves the model mode is C/c⁺ − n. For σ = 0 these are the formulas above.
// Counting the n pods that run at c⁺ too makes avail fall with σ from 0 on, as it
// falls with usage, cost, its deviation, the reserve and the caution. Far from
// full the deviations even out; near full U leaves room for a pod that is larger
// than the mean. That is for channels without give: a core that is taken twice
// halves a pod's speed, memory that is taken twice stops the node.
//
// Where pods are whole parts of a channel, as threads are of the cores, more than
// there are parts could not run at once, whatever the usage says: Channel.Slots
// bounds avail by Slots − n.
//
// Channel.Reserve is the share of a channel that is left free, for load beside
// the pods that must not wait: it counts as used in all of the above.
//
// # Allowance
//
// A slot that frees up stays empty while a report, a decision and a start-up take
// their time L. Pods that run no longer than that leave most slots empty, unless
// as many are on their way as end meanwhile: bandwidth times delay. With s slots
// and pods that each end λ times a second,
//
//	allowance = s·L·λ
//
// within bounds. StartupAllowance computes it from a Pace: the ends and the time
// lived by all pods, those that still run included, and the start-up time
// measured. Available grants it, except on a saturated node. A CPU that is full
// of pods which will have ended before the next can start is not saturated
// (Channel.ShortLived).
//
// The first draft of the thesis (§3.7.2) adds a pod after a window of good
// completion times and halves after a bad one, as TCP does. Measured side by
// side, windows were filled too slowly for short pods, where the allowance is
// needed, and added pods where long ones ran well without.
//
// All functions are pure, never modify their inputs but dst, and are safe for
// concurrent use.
package capacity
