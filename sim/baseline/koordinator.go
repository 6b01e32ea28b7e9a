package baseline

import "math"

// LoadAware is Koordinator's plugin of that name. A zero field takes its
// default.
type LoadAware struct {
	// Factor is the share of a request that a pod is expected to use: default
	// .85 of CPU, .7 of memory.
	Factor Resources
	// Threshold is the expected usage, as a share of the node, above which it
	// is refused: default .65 of CPU, .95 of memory.
	Threshold Resources
}

// What LoadAware expects of a pod that requests nothing.
const (
	loadAwareCPU    = .25
	loadAwareMemory = 200 << 20
)

func (l LoadAware) withDefaults() LoadAware {
	if l.Factor == (Resources{}) {
		l.Factor = Resources{.85, .7}
	}
	if l.Threshold == (Resources{}) {
		l.Threshold = Resources{.65, .95}
	}
	return l
}

// Estimate is the usage LoadAware expects of a pod: for each resource the
// larger of request and limit times its factor, at most the limit, or 250m and
// 200Mi where neither is declared.
func (l LoadAware) Estimate(request, limit Resources) Resources {
	l = l.withDefaults()
	return Resources{
		CPU:    loadAwareEstimate(request.CPU, limit.CPU, l.Factor.CPU, loadAwareCPU, 1e-3),
		Memory: loadAwareEstimate(request.Memory, limit.Memory, l.Factor.Memory, loadAwareMemory, 1),
	}
}

func loadAwareEstimate(request, limit, factor, otherwise, unit float64) float64 {
	quantity := math.Max(request, limit)
	if quantity == 0 {
		return otherwise
	}
	estimate := math.Round(quantity*factor/unit) * unit
	if limit > 0 {
		estimate = math.Min(estimate, limit)
	}
	return estimate
}

// Fits says whether the usage expected with the pod stays within the
// thresholds, in whole percent.
func (l LoadAware) Fits(expected, allocatable Resources) bool {
	l = l.withDefaults()
	return percent(expected.CPU, allocatable.CPU) <= percent(l.Threshold.CPU, 1) &&
		percent(expected.Memory, allocatable.Memory) <= percent(l.Threshold.Memory, 1)
}

func percent(x, of float64) float64 {
	if !(of > 0) {
		return math.Inf(1)
	}
	return math.Round(100 * x / of)
}

// Score is the mean over the resources of 100·(alloc − expected)/alloc, each
// rounded down and 0 where expected exceeds alloc.
func (LoadAware) Score(expected, allocatable Resources) int64 {
	return LeastAllocated(allocatable, expected)
}
