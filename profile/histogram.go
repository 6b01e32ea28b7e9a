package profile

import (
	"math"
	"slices"
	"time"
)

// histogram holds values by bucket, each with its weight halved every half-life of
// its age:
//
//	w(t) = w·2^(−(t−at)/halfLife)
//
// which decays the weight of a sample, never its value. Weights are kept as they
// are at a whole number of half-lives since 1970, that of the newest sample, so
// that moving the reference scales by a power of two, which is exact: the state
// depends on the samples alone, not on their order, and merging is addition.
//
// It grows as its values spread, and then allocates nothing. A histogram is for
// one goroutine at a time.
type histogram struct {
	scale     Scale
	halfLife  int64     // ns
	reference int64     // half-lives from 1970 to the newest sample
	low       int       // bucket of weights[0]
	weights   []float64 // between the lowest and the highest bucket with weight
	total     float64
}

// lastSecond bounds the times of samples: what a Unix time in ns can hold.
const lastSecond = 9e9

func checkTime(at time.Time) error {
	if s := at.Unix(); s < 0 || s > lastSecond {
		return refuse("at", at, "from 1970 to 2255")
	}
	return nil
}

// newHistogram returns an empty histogram.
func newHistogram(s Scale, halfLife time.Duration) (*histogram, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if halfLife < time.Millisecond {
		return nil, refuse("halfLife", halfLife, "at least 1ms")
	}
	return &histogram{scale: s, halfLife: int64(halfLife)}, nil
}

// add adds a sample. The value must be finite and not negative, the weight above 0
// and finite.
func (h *histogram) add(at time.Time, value, weight float64) error {
	if err := checkTime(at); err != nil {
		return err
	}
	if !(value >= 0) || math.IsInf(value, 1) {
		return refuse("value", value, "finite and not negative")
	}
	if !(weight > 0) || weight > maxWeight {
		return refuse("weight", weight, "above 0, at most 2^40")
	}
	weight *= h.factor(at.UnixNano())
	if weight == 0 {
		return nil // a thousand half-lives old
	}
	*h.slot(h.scale.Bucket(value)) += weight
	h.total += weight
	return nil
}

// maxWeight keeps sums far from overflow.
const maxWeight = 1 << 40

// factor is the weight at the reference of what weighs 1 at a time, after the
// reference was moved on to that time.
func (h *histogram) factor(at int64) float64 {
	if k := at / h.halfLife; h.total == 0 {
		h.reference = k
	} else if k > h.reference {
		h.rescale(k)
	}
	return math.Exp2(float64(at-h.reference*h.halfLife) / float64(h.halfLife))
}

// rescale moves the reference on.
func (h *histogram) rescale(reference int64) {
	by := int(max(h.reference-reference, -2000))
	for i, w := range h.weights {
		h.weights[i] = math.Ldexp(w, by)
	}
	h.total = math.Ldexp(h.total, by)
	h.reference = reference
}

// slot is the weight of a bucket, with room made for it.
func (h *histogram) slot(bucket int) *float64 {
	if i := bucket - h.low; uint(i) < uint(len(h.weights)) {
		return &h.weights[i]
	}
	h.cover(bucket, bucket)
	return &h.weights[bucket-h.low]
}

// cover widens the weights to the buckets from low to high.
func (h *histogram) cover(low, high int) {
	if len(h.weights) > 0 {
		low, high = min(low, h.low), max(high, h.low+len(h.weights)-1)
	}
	wider := make([]float64, high-low+1)
	if len(h.weights) > 0 {
		copy(wider[h.low-low:], h.weights)
	}
	h.low, h.weights = low, wider
}

// tie is how far a sum of weights may be below a share of them and still reach it:
// more than rounding, less than any sample worth a thought.
const tie = 1e-9

// quantile is where the bucket ends in which the share p of the weight is reached;
// the last bucket has no end, so it is where that begins. Without samples it is 0.
// A p outside [0, 1] counts as the nearest of them.
func (h *histogram) quantile(p float64) float64 {
	if h.total == 0 {
		return 0
	}
	// From above, as what is asked for is mostly high: the lowest bucket with at
	// most the share 1−p above it.
	allowed := h.total * (1 - min(max(p, 0), 1) + tie)
	above, i := 0., len(h.weights)-1
	for ; i > 0; i-- {
		if above += h.weights[i]; above > allowed {
			break
		}
	}
	// With p = 0 that is the first bucket that weighs anything.
	for i < len(h.weights)-1 && h.weights[i] == 0 {
		i++
	}
	return h.upper(h.low + i)
}

// mean is the weighted mean of where the samples' buckets end, 0 without samples.
func (h *histogram) mean() float64 {
	if h.total == 0 {
		return 0
	}
	sum := 0.
	for i, w := range h.weights {
		if w > 0 {
			sum += w * h.upper(h.low+i)
		}
	}
	return sum / h.total
}

// upper is what stands for the values of a bucket.
func (h *histogram) upper(bucket int) float64 {
	return h.scale.upper(min(bucket, h.scale.Buckets-2))
}

// weight is the weight of all samples at a time.
func (h *histogram) weight(at time.Time) float64 {
	if h.total == 0 || checkTime(at) != nil {
		return 0
	}
	return h.total * math.Exp2(-float64(at.UnixNano()-h.reference*h.halfLife)/float64(h.halfLife))
}

// merge adds the samples of another histogram of the same scale and half-life,
// which is not modified.
func (h *histogram) merge(o *histogram) error {
	if o == nil {
		return refuse("histogram", o, "given")
	}
	if o.scale != h.scale {
		return refuse("Scale", o.scale, "the same")
	}
	if o.halfLife != h.halfLife {
		return refuse("HalfLife", time.Duration(o.halfLife), "the same")
	}
	if o.total == 0 {
		return nil
	}
	if h.total == 0 {
		h.reference = o.reference
	} else if o.reference > h.reference {
		h.rescale(o.reference)
	}
	by := int(max(o.reference-h.reference, -2000))
	h.cover(o.low, o.low+len(o.weights)-1)
	for i, w := range o.weights {
		h.weights[o.low-h.low+i] += math.Ldexp(w, by)
	}
	h.total += math.Ldexp(o.total, by)
	return nil
}

func (h *histogram) clone() *histogram {
	c := *h
	c.weights = slices.Clone(h.weights)
	return &c
}

// histogramState is a histogram to store. Weights[i] is that of bucket Low+i at
// Reference half-lives after 1970. It is a plain value, safe for concurrent reading.
type histogramState struct {
	Scale     Scale
	HalfLife  time.Duration
	Reference int64
	Low       int
	Weights   []float64
}

// state returns a copy of the histogram's state, without empty buckets around it.
func (h *histogram) state() histogramState {
	from, to := 0, len(h.weights)
	for from < to && h.weights[from] == 0 {
		from++
	}
	for to > from && h.weights[to-1] == 0 {
		to--
	}
	s := histogramState{Scale: h.scale, HalfLife: time.Duration(h.halfLife)}
	if from < to {
		s.Reference, s.Low = h.reference, h.low+from
		s.Weights = append(s.Weights, h.weights[from:to]...)
	}
	return s
}

// histogram returns the histogram that the state is of.
func (s histogramState) histogram() (*histogram, error) {
	h, err := newHistogram(s.Scale, s.HalfLife)
	if err != nil {
		return nil, err
	}
	if s.Low < 0 || s.Low+len(s.Weights) > s.Scale.Buckets || s.Low > s.Scale.Buckets {
		return nil, refuse("Low", s.Low, "a bucket from which the weights fit the scale")
	}
	if s.Reference < 0 || s.Reference > lastSecond*1e9/h.halfLife {
		return nil, refuse("Reference", s.Reference, "of a time from 1970 to 2255")
	}
	for _, w := range s.Weights {
		if !(w >= 0) || w > maxWeight*maxWeight {
			return nil, refuse("Weights", w, "from 0 to 2^80")
		}
		h.total += w
	}
	if h.total > 0 {
		h.reference, h.low = s.Reference, s.Low
		h.weights = append(h.weights, s.Weights...)
	}
	return h, nil
}

// maxBuckets bounds a Scale: the buckets of a window on the wire have that many.
const maxBuckets = 1024

// Scale divides values into buckets, each Ratio times as wide as the one below:
// bucket i ends at First·(Ratioⁱ⁺¹−1)/(Ratio−1), so that a quantile is at most
// Ratio times too high, or First where values are small. The last bucket takes
// whatever is above. It is a plain value, safe for concurrent use.
type Scale struct {
	First, Ratio float64
	Buckets      int
}

// The scales of the Vertical Pod Autoscaler's recommender 1.7.0
// (pkg/recommender/model/aggregations_config.go): to 1,000 cores and 1 TB in
// steps of 5 %.
var (
	CPU    = Scale{First: .01, Ratio: 1.05, Buckets: 176}
	Memory = Scale{First: 1e7, Ratio: 1.05, Buckets: 176}
	// lifetimes, in seconds: from one to some 50 days.
	lifetimes = Scale{First: 1, Ratio: 1.1, Buckets: 136}
)

// validate refuses a scale without order.
func (s Scale) validate() error {
	switch {
	case !(s.First > 0) || math.IsInf(s.First, 0):
		return refuse("Scale.First", s.First, "above 0 and finite")
	case !(s.Ratio > 1) || s.Ratio > 1e3:
		return refuse("Scale.Ratio", s.Ratio, "above 1, at most 1000")
	case s.Buckets < 2 || s.Buckets > maxBuckets:
		return refuse("Scale.Buckets", s.Buckets, "from 2 to 1024")
	case math.IsInf(s.upper(s.Buckets-1), 0):
		return refuse("Scale", s, "a scale whose last bucket begins at a finite value")
	}
	return nil
}

// Bucket is the bucket a value falls into; of one below 0, or not a number, the
// first.
func (s Scale) Bucket(v float64) int {
	if !(v >= s.First) {
		return 0
	}
	i := math.Log(v*(s.Ratio-1)/s.First+1) / math.Log(s.Ratio)
	return int(min(i, float64(s.Buckets-1)))
}

// upper is the value that bucket i ends at.
func (s Scale) upper(i int) float64 {
	return s.First * (math.Pow(s.Ratio, float64(i+1)) - 1) / (s.Ratio - 1)
}

// within is a value that falls into bucket i and is as large as any, except for
// rounding.
func (s Scale) within(i int) float64 { return s.upper(min(i, s.Buckets-2)) * (1 - 1e-9) }
