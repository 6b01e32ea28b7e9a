// Package capacity answers how much more fits on a node before one resource
// is full: in typical loads (the signal k) and in pods (the availability).
//
// # Signal
//
// y ∈ [0,1]^d is the usage of d channels, 0 empty and 1 full; q ≥ 0 is the
// demand of one more typical load, from the model of recent load
// (svd.Model.DemandTo: q = σ₁/√b·u₁). The signal is how often q still fits:
//
//	k = sup { k : y + k·q < 1 } = min over {i : q_i > ε} of (1 − y_i)/q_i,  clamped to [0, Max]
//
// after eqs. 3.10 and 3.11 of the thesis ("Hands at the Ready: Bringing Pronto
// to Kubernetes", L. Choteborsky, 2025). We differ in the scale of q: the
// thesis takes √σ₁·u₁, which is a root mean square only where σ₁ denotes the
// eigenvalue λ₁; with singular values a doubled usage would look √2 larger
// only. And b does not "just scale k": blocks may be partial.
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
// We differ from the thesis in four ways, each found necessary in simulation.
// The signal caps the model at all times: a thesis node that is in constant
// churn offers its modelled room though it is full. The room is counted per
// channel, not along u₁. The cost is raised by its standard deviation,
// c⁺ = c + g·sd(c): the node with the most underestimated cost attracts the
// most pods, so caution has to stand in the denominator. And a node with every
// channel below ½ offers at least one pod, or a bad estimate would lock it out.
//
// All functions are pure, never modify their inputs and are safe for
// concurrent use.
package capacity
