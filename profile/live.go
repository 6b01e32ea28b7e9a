package profile

import (
	"cmp"
	"slices"
	"time"
)

// resources are the CPU and, memoryOf, memory.
const resources, memoryOf = 2, 1

// keyOf is the FNV-1a hash of the name of a pod or a node: names are compared often
// and kept for every pod.
func keyOf(name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * prime
	}
	return hash
}

// livePod is what a live pod has taken so far, in all and in its slot of the day,
// and what that counts for. A later reading of the pod replaces the earlier one.
type livePod struct {
	node, pod uint64
	ns        int64 // since 1970, of its last window
	slot      int
	day       reading
	inSlot    reading
}

func (l *livePod) at() time.Time { return time.Unix(0, l.ns) }

// reading is a pod's in the evidence of a scope.
type reading struct {
	sums
	weight [resources]float64 // 0: not in the evidence
}

// sums are of a pod's windows.
type sums struct {
	cpu, seconds, peak float64
}

func (s *sums) add(w *Window, memory float64) {
	if !w.NoCPU {
		s.cpu += w.CPU + w.waited()
		s.seconds += w.Span.Seconds()
	}
	s.peak = max(s.peak, memory)
}

// knows reports whether a resource was measured: no process takes no memory.
func (s *sums) knows(r int) bool {
	if r == 0 {
		return s.seconds > 0
	}
	return s.peak > 0
}

// amount is the mean of CPU and the peak of memory.
func (s *sums) amount(r int) float64 {
	if r == 0 {
		return s.cpu / s.seconds
	}
	return s.peak
}

// livePods are in the order of nodes and pods.
type livePods []livePod

func (l livePods) find(node, pod uint64) (i int, known bool) {
	return slices.BinarySearchFunc(l, livePod{node: node, pod: pod}, func(a, b livePod) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.pod, b.pod))
	})
}

// pod is the live pod of those keys, nil if there is none.
func (l livePods) pod(node, pod uint64) *livePod {
	if i, known := l.find(node, pod); known {
		return &l[i]
	}
	return nil
}
