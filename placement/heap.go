package placement

// minHeap implements heap.Interface. With place, each item knows its place, counted from 1, with 0 for
// none.
type minHeap[T any] struct {
	items  []T
	before func(a, b T) bool
	place  func(T) *int // nil where items know no place
}

// first returns the item before all others, the zero value if there is none.
func (h *minHeap[T]) first() (item T) {
	if len(h.items) == 0 {
		return item
	}
	return h.items[0]
}

func (h *minHeap[T]) Len() int           { return len(h.items) }
func (h *minHeap[T]) Less(i, j int) bool { return h.before(h.items[i], h.items[j]) }
func (h *minHeap[T]) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.put(i, i+1)
	h.put(j, j+1)
}

func (h *minHeap[T]) Push(item any) {
	h.items = append(h.items, item.(T))
	h.put(len(h.items)-1, len(h.items))
}

func (h *minHeap[T]) Pop() any {
	last := len(h.items) - 1
	h.put(last, 0)
	item := h.items[last]
	clear(h.items[last:])
	h.items = h.items[:last]
	return item
}

// put notes the place of the i-th item.
func (h *minHeap[T]) put(i, place int) {
	if h.place != nil {
		*h.place(h.items[i]) = place
	}
}
