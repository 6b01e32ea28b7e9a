package replay

import "math"

// most is the number of points kept of a line: more than a picture has pixels
// across.
const most = 4000

// trace is a line with bounded memory: as it grows, neighbours are merged into
// one point that spans their values.
type trace struct {
	points []span
	stride int // values a point
	filled int // values in the last point
}

// span is the values from x on.
type span struct{ x, low, high float64 }

// add adds a value; one that is not finite, which a refused sample may have, is
// left out.
func (t *trace) add(x, y float64) { t.addSpan(x, y, y) }

// addSpan adds the values from low to high.
func (t *trace) addSpan(x, low, high float64) {
	if math.IsNaN(low+high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return
	}
	if t.stride == 0 {
		t.stride, t.filled = 1, 1
	}
	if n := len(t.points); t.filled < t.stride {
		t.points[n-1] = t.points[n-1].with(span{x, low, high})
		t.filled++
		return
	}
	if len(t.points) == most {
		for i := range most / 2 {
			t.points[i] = t.points[2*i].with(t.points[2*i+1])
		}
		t.points = t.points[:most/2]
		t.stride *= 2
	}
	t.points = append(t.points, span{x, low, high})
	t.filled = 1
}

// top is the largest value, at least least.
func (t *trace) top(least float64) float64 {
	for _, s := range t.points {
		least = max(least, s.high)
	}
	return least
}

func (s span) with(o span) span { return span{s.x, min(s.low, o.low), max(s.high, o.high)} }
