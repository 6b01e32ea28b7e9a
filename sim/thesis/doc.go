// Package thesis has the parts that the thesis describes, or that were tried in their
// place, and that lost ("Hands at the Ready: Bringing Pronto to Kubernetes",
// L. Choteborsky, 2025). They are for comparison: figures and experiments that repeat
// the thesis's run whole agents with them.
//
// # Estimators
//
// They learn what package kalman's does, the capacity C of a channel and the cost c
// of a pod (§4.2.4), and stand behind the same gates, which that package's
// documentation describes. With the headroom z at n pods and R its variance:
//
//	Naive   ν = z + c·n − C, S = P_C + R. Each of two scalar filters takes the whole
//	        of ν, so both claim it, and the pair rings. The thesis's dual filter.
//	Delta   learns c from ν = Δz + c·Δn alone, then C. The thesis's first approach.
//	Joint   the two-dimensional filter on (C, c) with H = (1, −n). Its second.
//
// TestDefaultIsBest prints the mean absolute error of avail for each of them and for
// kalman's on nine synthetic regimes (drifting cost, bursts, outside load, a drop of
// the capacity while n stands still, a CPU that is full in the middle of its range,
// another workload, start-up spikes, pods that differ), with the default drifts and
// with those tuned on other seeds. Kalman's has the lowest mean in both, Joint ties,
// since the two are one filter in other coordinates, and the other two are far behind.
//
// They are values of the option estimator.method once this package is linked.
//
// # Availability
//
// [Switched] is the switch between eqs. 3.12 and 3.13, a value of the option avail.rule.
//
// # Merging
//
// [Sequential] merges the nodes' models in order of arrival, a value of the option
// aggregate.policy.
//
// # Filters
//
// [EMA], [MedianEMA] and [OneEuro] smooth the samples of one channel, as filter.Dynamic
// does. TestTrade holds the table by which package filter explains its constants.
//
// The estimators and the aggregator never modify or retain their input. They refuse invalid
// input, NaN and infinities included, with a *field.Error and stay as they were.
//
// Types that do not speak of concurrent use are plain values.
package thesis
