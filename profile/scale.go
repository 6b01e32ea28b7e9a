package profile

import "math"

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

// Validate refuses a scale without order.
func (s Scale) Validate() error {
	switch {
	case !(s.First > 0) || math.IsInf(s.First, 0):
		return refuse("Scale.First", s.First, "above 0 and finite")
	case !(s.Ratio > 1) || s.Ratio > 1e3:
		return refuse("Scale.Ratio", s.Ratio, "above 1, at most 1000")
	case s.Buckets < 2 || s.Buckets > maxBuckets:
		return refuse("Scale.Buckets", s.Buckets, "from 2 to 1024")
	case math.IsInf(s.Upper(s.Buckets-1), 0):
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

// Upper is the value that bucket i ends at.
func (s Scale) Upper(i int) float64 {
	return s.First * (math.Pow(s.Ratio, float64(i+1)) - 1) / (s.Ratio - 1)
}

// within is a value that falls into bucket i and is as large as any, except for
// rounding.
func (s Scale) within(i int) float64 { return s.Upper(min(i, s.Buckets-2)) * (1 - 1e-9) }

// scaling is a scale with what is made of it once.
type scaling struct {
	Scale
	base float64 // 1/log(Ratio)
}

// known are the scales of most histograms, of which there are many.
var known = [...]*scaling{newScaling(CPU), newScaling(Memory), newScaling(lifetimes)}

func newScaling(s Scale) *scaling { return &scaling{s, 1 / math.Log(s.Ratio)} }

func scalingOf(s Scale) *scaling {
	for _, k := range known {
		if k.Scale == s {
			return k
		}
	}
	return newScaling(s)
}
