package pronto

import "math"

// moments are the number of some values, their mean and the sum of the squares
// of what each differs from it.
type moments struct {
	n, mean, m2 float64
}

// add takes one value more (B. Welford, 1962).
func (m moments) add(v float64) moments {
	n := m.n + 1
	d := v - m.mean
	mean := m.mean + d/n
	return moments{n, mean, m.m2 + d*(v-mean)}
}

// merge is the moments of both (T. Chan et al., 1979). Nothing is subtracted, so
// that no digits are lost however unlike the values are.
func (m moments) merge(o moments) moments {
	switch {
	case m.n == 0:
		return o
	case o.n == 0:
		return m
	}
	n := m.n + o.n
	d := o.mean - m.mean
	return moments{n, m.mean + d*(o.n/n), m.m2 + o.m2 + d*d*(m.n*o.n/n)}
}

// deviation is the standard deviation of the values themselves, divided by n.
func (m moments) deviation() float64 {
	if m.n == 0 {
		return 0
	}
	return math.Sqrt(m.m2 / m.n)
}

// window is the last values of a stream and their moments, in constant time a
// value and without ever taking a value out of a sum: the values come in blocks
// as long as the window, which is then an end of one block, of which moments are
// kept from each place on, and a beginning of the next.
type window struct {
	// values is a ring: those before next are of this block, the others, once
	// full, of the one before.
	values []float64
	next   int
	full   bool
	// begun are the moments of this block, ends[i] those of the former block from
	// place i on.
	begun moments
	ends  []moments
}

func newWindow(lag int) window {
	return window{values: make([]float64, lag), ends: make([]moments, lag)}
}

func (w *window) reset() { w.next, w.full, w.begun = 0, false, moments{} }

func (w *window) len() int {
	if w.full {
		return len(w.values)
	}
	return w.next
}

// last is the value pushed last; there must be one.
func (w *window) last() float64 {
	return w.values[(w.next+len(w.values)-1)%len(w.values)]
}

func (w *window) push(v float64) {
	w.values[w.next] = v
	w.begun = w.begun.add(v)
	if w.next++; w.next == len(w.values) {
		w.next, w.full, w.begun = 0, true, moments{}
		w.sumEnds()
	}
}

// sumEnds sums the former block's ends that are still within the window.
func (w *window) sumEnds() {
	var end moments
	for i := len(w.values) - 1; i >= w.next; i-- {
		end = end.add(w.values[i])
		w.ends[i] = end
	}
}

// moments are those of all values in the window.
func (w *window) moments() moments {
	if !w.full {
		return w.begun
	}
	return w.ends[w.next].merge(w.begun)
}

// sum makes the moments anew, of values that were changed in their places.
func (w *window) sum() {
	w.begun = moments{}
	for _, v := range w.values[:w.next] {
		w.begun = w.begun.add(v)
	}
	if w.full {
		w.sumEnds()
	}
}
