package baseline

import "math"

// Spikes finds peaks in a series by z-score: a value more than Threshold
// deviations above the mean of the last Lag is one, and enters the window with
// the weight Influence alone. Zero fields mean 10, 3.5 and .5. It is not safe
// for concurrent use.
type Spikes struct {
	Lag                  int
	Threshold, Influence float64

	window []float64 // a ring
	next   int
	last   float64
}

func (s *Spikes) defaults() (lag int, threshold, influence float64) {
	lag, threshold, influence = s.Lag, s.Threshold, s.Influence
	if lag == 0 {
		lag = 10
	}
	if threshold == 0 {
		threshold = 3.5
	}
	if influence == 0 {
		influence = .5
	}
	return lag, threshold, influence
}

// Step takes the next value and says whether it is a peak. The first Lag values
// fill the window.
func (s *Spikes) Step(x float64) bool {
	lag, threshold, influence := s.defaults()
	if len(s.window) < lag {
		s.window, s.last = append(s.window, x), x
		return false
	}
	mean, sd := 0., 0.
	for _, v := range s.window {
		mean += v
	}
	mean /= float64(lag)
	for _, v := range s.window {
		sd += (v - mean) * (v - mean)
	}
	sd = math.Sqrt(sd / float64(lag))
	peak := x-mean > threshold*sd
	if peak {
		x = influence*x + (1-influence)*s.last
	}
	s.window[s.next], s.last = x, x
	s.next = (s.next + 1) % lag
	return peak
}

// Rejects is Pronto's signal of a node: the peaks in the projections of its load
// onto its principal directions, weighted by the singular values, reach half of
// all weight. peaks and sigma have one element a direction; what one lacks
// counts as none.
func Rejects(peaks []bool, sigma []float64) bool {
	raised, all := 0., 0.
	for i, s := range sigma {
		all += s
		if i < len(peaks) && peaks[i] {
			raised += s
		}
	}
	return raised > 0 && raised >= all/2
}
