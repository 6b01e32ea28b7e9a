package thesis

const (
	// maxWindow is the largest window of a median, in samples.
	maxWindow = 15
	// defaultWindow is the least window that a spike of 300 ms, which touches
	// four samples at 10 Hz, cannot fill by half.
	defaultWindow = 9
	// defaultMedianGain is high because the median has removed the spike.
	defaultMedianGain = 0.8
)

// MedianEMA averages the median of the latest W samples:
//
//	m += a·(median(x_t … x_{t−W+1}) − m)
//
// The first sample fills the window and sets m. What touches at most (W−1)/2
// of W samples does not pass, whatever its height; all else is delayed by as
// many samples. The zero value is the default filter. A MedianEMA is a plain
// value, only read by its methods, that any number of goroutines may share.
type MedianEMA struct {
	// Window is W, the number of samples the median is taken of; odd, in
	// [1, 15]. 0 means 9.
	Window int
	// Gain is a, the weight of a new median; in (0, 1]. 0 means .8.
	Gain float64
}

// Validate returns a *field.Error for the first field that is out of range.
func (f MedianEMA) Validate() error {
	if f.Window != 0 && (f.Window < 1 || f.Window > maxWindow || f.Window%2 == 0) {
		return reject("Window", -1, float64(f.Window))
	}
	return checkGain(f.Gain)
}

var _ Scalar[MedianEMAState] = MedianEMA{}

// MedianEMAState is the filter of one channel; the zero value has seen
// nothing. It is a plain value.
type MedianEMAState struct {
	// Level is m, in the unit of the samples.
	Level float64
	// Recent holds the latest samples; those at W and beyond are 0.
	Recent [maxWindow]float64
	// Next is the place of the next sample in Recent, in [0, W).
	Next int
	// Started is false until the first sample.
	Started bool
}

// Step returns the state after the sample x. A *field.Error reports an x that
// is not finite or beyond filter.MaxMagnitude, or a state that Step cannot have
// returned, or a MedianEMA that is not valid; the state returned is then s.
func (f MedianEMA) Step(s MedianEMAState, x float64) (MedianEMAState, error) {
	if err := f.Validate(); err != nil {
		return s, err
	}
	window := f.Window
	if window == 0 {
		window = defaultWindow
	}
	switch {
	case !valid(x):
		return s, reject("x", -1, x)
	case !valid(s.Level):
		return s, reject("Level", -1, s.Level)
	case s.Next < 0 || s.Next >= window:
		return s, reject("Next", -1, float64(s.Next))
	}
	for i, v := range s.Recent {
		if !valid(v) {
			return s, reject("Recent", i, v)
		}
	}
	if !s.Started {
		s = MedianEMAState{Level: x, Started: true}
		for i := range window {
			s.Recent[i] = x
		}
		return s, nil
	}
	s.Recent[s.Next] = x
	s.Next = (s.Next + 1) % window
	s.Level = approach(s.Level, median(s.Recent, window), or(f.Gain, defaultMedianGain))
	return s, nil
}

// Level returns s.Level.
func (MedianEMA) Level(s MedianEMAState) float64 { return s.Level }

// median returns the median of the first n values, n odd, by insertion into
// the copy that it was passed.
func median(x [maxWindow]float64, n int) float64 {
	for i := 1; i < n; i++ {
		v, j := x[i], i
		for ; j > 0 && x[j-1] > v; j-- {
			x[j] = x[j-1]
		}
		x[j] = v
	}
	return x[n/2]
}
