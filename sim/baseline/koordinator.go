package baseline

import "math"

// LoadAware is Koordinator's plugin of that name. A zero field takes the plugin's default.
type LoadAware struct {
	// CPUThreshold is the expected usage of CPU, as a share of the node, above which a pod is
	// refused; default .65.
	CPUThreshold float64
}

// usageFactor is the share of a request that a pod is expected to use, cpuThreshold and
// memoryThreshold the expected usage, as shares of the node, above which it is refused.
var usageFactor = Resources{CPU: .85, Memory: .7}

const (
	cpuThreshold    = .65
	memoryThreshold = .95
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
func (l LoadAware) Fits(expected, allocatable Resources) bool {
	if l.CPUThreshold == 0 {
		l.CPUThreshold = cpuThreshold
	}
	return percent(expected.CPU, allocatable.CPU) <= percent(l.CPUThreshold, 1) &&
		percent(expected.Memory, allocatable.Memory) <= percent(memoryThreshold, 1)
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

// reclaimed is the share of a node that batch and other pods may use together.
var reclaimed = Resources{CPU: .6, Memory: .65}

// BatchAllocatable is what Koordinator lets batch pods request of a node, by its defaults:
//
//	capacity·(.6 of the CPU, .65 of the memory) − max(system, reserved) − others
//
// and no less than 0. system is what is used outside of pods, reserved what the kubelet keeps
// for that, and others what pods use that are no batch pods.
func BatchAllocatable(capacity, system, reserved, others Resources) Resources {
	most := Resources{capacity.CPU * reclaimed.CPU, capacity.Memory * reclaimed.Memory}
	return most.Minus(system.Max(reserved)).Minus(others).Max(Resources{})
}
