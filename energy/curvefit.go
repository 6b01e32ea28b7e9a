package energy

import "math"

// curveFit is a Curve as it is read: it does not fall, and reaches from 0 to 1.
type curveFit struct {
	watts, deviation [curveKnots]float64
	first, last      int // the known knots at the ends; last < first: none
	known            bool
}

// fitted pools what falls and continues the ends.
func (k *Curve) fitted() curveFit {
	f := curveFit{first: curveKnots, last: -1}
	var knots [curveKnots]int
	n := 0
	for i, w := range k.state.Weight {
		if w >= knownWeight {
			knots[n], n = i, n+1
			f.first, f.last = min(f.first, i), i
			f.watts[i] = k.state.Watts[i]
			f.deviation[i] = math.Sqrt(k.state.Variance[i])
		}
	}
	k.pool(&f, knots[:n])
	for i := 1; i < n; i++ {
		f.join(knots[i-1], knots[i])
	}
	low, high, known := k.slopes(&f, knots[:n])
	f.known = known
	if n == 0 {
		for i := range f.watts {
			f.watts[i] = k.prior[0] + high*float64(i)
			f.deviation[i] = guessed * f.watts[i]
		}
		return f
	}
	for i := f.first - 1; i >= 0; i-- {
		f.guess(i, f.first, low)
	}
	for i := f.last + 1; i < curveKnots; i++ {
		f.guess(i, f.last, high)
	}
	return f
}

// slopes are the watts a knot below the first known one and above the last: those of
// the known knots there, of the prior where there is but one, else none.
func (k *Curve) slopes(f *curveFit, knots []int) (low, high float64, known bool) {
	n := len(knots)
	if n >= 2 {
		slope := func(a, b int) float64 { return (f.watts[b] - f.watts[a]) / float64(b-a) }
		return slope(knots[0], knots[1]), slope(knots[n-2], knots[n-1]), true
	}
	prior := (k.prior[1] - k.prior[0]) / (curveKnots - 1)
	return prior, prior, n > 0 || k.prior[1] > 0
}

// pool replaces neighbours that fall by their mean, weighted by their readings, until
// none does (pool adjacent violators).
func (k *Curve) pool(f *curveFit, knots []int) {
	var mean, weight [curveKnots]float64
	var size [curveKnots]int
	n := 0
	for _, i := range knots {
		mean[n], weight[n], size[n] = f.watts[i], k.state.Weight[i], 1
		for n++; n > 1 && mean[n-2] > mean[n-1]; n-- {
			total := weight[n-2] + weight[n-1]
			mean[n-2] = (mean[n-2]*weight[n-2] + mean[n-1]*weight[n-1]) / total
			weight[n-2] = total
			size[n-2] += size[n-1]
		}
	}
	at := 0
	for block := range n {
		for range size[block] {
			f.watts[knots[at]] = mean[block]
			at++
		}
	}
}

// join draws a straight line between two known knots.
func (f *curveFit) join(a, b int) {
	for i := a + 1; i < b; i++ {
		t := float64(i-a) / float64(b-a)
		f.watts[i] = f.watts[a] + t*(f.watts[b]-f.watts[a])
		f.deviation[i] = max(f.deviation[a], f.deviation[b])
	}
}

// guess continues the curve from its known end to knot i.
func (f *curveFit) guess(i, end int, slope float64) {
	f.watts[i] = max(f.watts[end]+slope*float64(i-end), 0)
	f.deviation[i] = max(f.deviation[end], guessed*f.watts[i])
}

func (f *curveFit) at(u float64) Level {
	j, high := position(u)
	mix := func(v *[curveKnots]float64) float64 { return v[j] + high*(v[j+1]-v[j]) }
	l := Level{Watts: mix(&f.watts), SD: mix(&f.deviation)}
	const slack = 1e-9
	x := float64(j) + high
	l.Extrapolated = f.last < f.first || x < float64(f.first)-slack || x > float64(f.last)+slack
	return l
}

// reach returns the utilisation nearest to u at which the power is watts, or as near to
// that as it comes.
func (f *curveFit) reach(u, watts float64) float64 {
	watts = min(max(watts, f.watts[0]), f.watts[curveKnots-1])
	from := f.at(u).Watts
	j, high := position(u)
	next, step := j+1, 1
	if watts < from {
		next, step = j, -1
		if high == 0 {
			next--
		}
	}
	for ; watts != from && next >= 0 && next < curveKnots; next += step {
		to, x := f.watts[next], float64(next)/(curveKnots-1)
		if (to-watts)*float64(step) >= 0 {
			return u + (x-u)*(watts-from)/(to-from)
		}
		u, from = x, to
	}
	return u
}
