package baseline

import "math"

// LoadAware is Koordinator's plugin of that name, by its defaults.
type LoadAware struct{}

// usageFactor is the share of a request that a pod is expected to use, usageThreshold the
// expected usage, as a share of the node, above which it is refused.
var (
	usageFactor    = Resources{CPU: .85, Memory: .7}
	usageThreshold = Resources{CPU: .65, Memory: .95}
)

// What LoadAware expects of a pod that requests nothing.
const (
	loadAwareCPU    = .25
	loadAwareMemory = 200 << 20
)

// Estimate is the usage LoadAware expects of a pod: for each resource the
// larger of request and limit times its factor, at most the limit, or 250m and
// 200Mi where neither is declared.
func (LoadAware) Estimate(request, limit Resources) Resources {
	return Resources{
		CPU:    loadAwareEstimate(request.CPU, limit.CPU, usageFactor.CPU, loadAwareCPU, 1e-3),
		Memory: loadAwareEstimate(request.Memory, limit.Memory, usageFactor.Memory, loadAwareMemory, 1),
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

// Fits reports whether the usage expected with the pod stays within the
// thresholds, in whole percent.
func (LoadAware) Fits(expected, allocatable Resources) bool {
	return percent(expected.CPU, allocatable.CPU) <= percent(usageThreshold.CPU, 1) &&
		percent(expected.Memory, allocatable.Memory) <= percent(usageThreshold.Memory, 1)
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
