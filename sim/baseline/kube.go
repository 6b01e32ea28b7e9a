package baseline

import "math"

// What kube-scheduler scores a pod at that requests nothing.
const (
	defaultRequestCPU    = .1
	defaultRequestMemory = 200 << 20
)

// NonZero replaces the requests that a pod does not make by kube-scheduler's
// defaults, 100m and 200Mi.
func NonZero(requested Resources) Resources {
	if requested.CPU == 0 {
		requested.CPU = defaultRequestCPU
	}
	if requested.Memory == 0 {
		requested.Memory = defaultRequestMemory
	}
	return requested
}

// units are the amounts as kube-scheduler counts: whole thousandths of a core, a part
// of one counting as one, and whole bytes.
func (r Resources) units() (milli, bytes int64) {
	return int64(math.Ceil(1000*r.CPU - rounding)), int64(math.Ceil(r.Memory - rounding))
}

// rounding makes up for decimal fractions that a float64 has just above.
const rounding = 1e-6

// LeastAllocated is NodeResourcesFit's default score: the mean over the
// resources of 100·(alloc − req)/alloc, each rounded down and 0 where req exceeds
// alloc. requested includes the pod, all pods taken NonZero.
func LeastAllocated(allocatable, requested Resources) int64 {
	return meanScore(unallocated, allocatable, requested)
}

// LeastAllocatedBatch is LeastAllocated over four resources, as Koordinator configures it:
// those of a node and its batch resources, see [BatchAllocatable]. A batch resource that the
// pod does not request has a batch of 0 and is left out.
func LeastAllocatedBatch(allocatable, requested, batch, batchRequested Resources) int64 {
	return meanScore(unallocated, allocatable, requested, batch, batchRequested)
}

func unallocated(allocatable, requested int64) int64 {
	if requested > allocatable {
		return 0
	}
	return (allocatable - requested) * maxScore / allocatable
}

// MostAllocated is NodeResourcesFit's score where its strategy is to pack: the mean over
// the resources of 100·req/alloc, each rounded down and 100 where req exceeds alloc.
// requested includes the pod, all pods taken NonZero.
func MostAllocated(allocatable, requested Resources) int64 {
	return meanScore(allocated, allocatable, requested)
}

func allocated(allocatable, requested int64) int64 {
	return min(requested, allocatable) * maxScore / allocatable
}

// meanScore is the mean over the resources that there are, rounded down, of pairs of what can
// be requested and what is.
func meanScore(score func(allocatable, requested int64) int64, amounts ...Resources) int64 {
	sum, n := int64(0), int64(0)
	add := func(allocatable, requested int64) {
		if allocatable > 0 {
			sum, n = sum+score(allocatable, requested), n+1
		}
	}
	for i := 0; i < len(amounts); i += 2 {
		allocCPU, allocMemory := amounts[i].units()
		cpu, memory := amounts[i+1].units()
		add(allocCPU, cpu)
		add(allocMemory, memory)
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// BalancedAllocation is NodeResourcesBalancedAllocation's score of how a
// pod changes a node's balance: with b = 100·(1 − sd), rounded down, of the requested
// shares of both resources, each at most 1 (of two numbers the standard deviation is
// half the difference), 50 + (50 + b with the pod − b without)/2. A pod that requests
// nothing is not scored: 0 on every node.
func BalancedAllocation(allocatable, requested, pod Resources) int64 {
	if pod == (Resources{}) {
		return 0
	}
	const half = maxScore / 2
	return half + (half+balance(allocatable, requested.Plus(pod))-balance(allocatable, requested))/2
}

// balance is b. A resource that a node does not have does not count.
func balance(allocatable, requested Resources) int64 {
	allocCPU, allocMemory := allocatable.units()
	if allocCPU <= 0 || allocMemory <= 0 {
		return maxScore
	}
	milli, bytes := requested.units()
	cpu := math.Min(float64(milli)/float64(allocCPU), 1)
	memory := math.Min(float64(bytes)/float64(allocMemory), 1)
	return int64((1 - math.Abs((cpu-memory)/2)) * maxScore)
}
