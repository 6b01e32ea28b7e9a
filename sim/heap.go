package sim

// heap is a binary heap, the element before all others first.
type heap[T ordered[T]] []T

// ordered is what a heap holds.
type ordered[T any] interface{ before(T) bool }

var (
	_ ordered[event]   = event{}
	_ ordered[queued]  = queued{}
	_ ordered[backing] = backing{}
	_ ordered[work]    = work(0)
)

func (h *heap[T]) push(v T) {
	*h = append(*h, v)
	s := *h
	i := len(s) - 1
	for ; i > 0 && v.before(s[(i-1)/2]); i = (i - 1) / 2 {
		s[i] = s[(i-1)/2]
	}
	s[i] = v
}

// without returns the heap of all but those that are to go.
func without[T ordered[T]](h heap[T], goes func(T) bool) heap[T] {
	var left heap[T]
	for _, v := range h {
		if !goes(v) {
			left.push(v)
		}
	}
	return left
}

// pop takes the first away; there must be one.
func (h *heap[T]) pop() T {
	s := *h
	first, last := s[0], s[len(s)-1]
	var none T
	s[len(s)-1] = none
	*h = s[:len(s)-1]
	if len(*h) > 0 {
		h.replace(last)
	}
	return first
}

// replace puts v in the place of the first and where it belongs.
func (h *heap[T]) replace(v T) {
	s := *h
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].before(s[child]) {
			child++
		}
		if !s[child].before(v) {
			break
		}
		s[i] = s[child]
		i = child
	}
	s[i] = v
}
