package connection

import "container/heap"

// ages is a heap of jobs, the one on top that was looked at longest ago; of several the
// first by name. Each knows its place.
type ages []*job

var _ heap.Interface = (*ages)(nil)

// Len implements heap.Interface.
func (a ages) Len() int { return len(a) }

// Less implements heap.Interface.
func (a ages) Less(i, j int) bool {
	if c := a[i].updated.Compare(a[j].updated); c != 0 {
		return c < 0
	}
	return compare(a[i].name, a[j].name) < 0
}

// Swap implements heap.Interface.
func (a ages) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push implements heap.Interface.
func (a *ages) Push(x any) {
	j, ok := x.(*job)
	if !ok {
		return
	}
	j.place = len(*a)
	*a = append(*a, j)
}

// Pop implements heap.Interface.
func (a *ages) Pop() any {
	last := len(*a) - 1
	j := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return j
}
