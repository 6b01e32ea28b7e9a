package baseline

import "math"

// What kube-scheduler scores a pod at that requests nothing.
const (
	DefaultRequestCPU    = .1
	DefaultRequestMemory = 200 << 20
)

// NonZero replaces the requests that a pod does not make by kube-scheduler's
// defaults, 100m and 200Mi.
func NonZero(requested Resources) Resources {
	if requested.CPU == 0 {
		requested.CPU = DefaultRequestCPU
	}
	if requested.Memory == 0 {
		requested.Memory = DefaultRequestMemory
	}
	return requested
}

// LeastAllocated is NodeResourcesFit's default score: the mean over the
// resources of 100·(alloc − req)/alloc, each rounded down and 0 where req exceeds
// alloc. requested includes the pod, all pods taken NonZero.
func LeastAllocated(allocatable, requested Resources) int64 {
	return (unallocated(allocatable.CPU, requested.CPU) + unallocated(allocatable.Memory, requested.Memory)) / 2
}

func unallocated(allocatable, requested float64) int64 {
	if !(allocatable > 0) || requested > allocatable {
		return 0
	}
	return int64(math.Floor(MaxScore*(allocatable-requested)/allocatable + rounding))
}

// rounding makes up for quotients of whole numbers that a float64 has just
// below.
const rounding = 1e-9

// BalancedAllocation is NodeResourcesBalancedAllocation's score: 100·(1 − sd) of
// the allocated shares of both resources, each at most 1; of two numbers the
// standard deviation is half the difference. requested includes the pod and is
// taken as requested.
func BalancedAllocation(allocatable, requested Resources) int64 {
	if !(allocatable.CPU > 0 && allocatable.Memory > 0) {
		return 0
	}
	cpu := math.Min(requested.CPU/allocatable.CPU, 1)
	memory := math.Min(requested.Memory/allocatable.Memory, 1)
	return int64(math.Floor(MaxScore*(1-math.Abs(cpu-memory)/2) + rounding))
}
