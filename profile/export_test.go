package profile

import (
	"math"
	"time"
)

// What tests of the package outside of it look at.

type (
	Histogram      = histogram
	HistogramState = histogramState
	Peaks          = peaks
	PeaksState     = peaksState
)

var (
	NewHistogram = newHistogram
	NewPeaks     = newPeaks
)

// Weight is the weight of all samples at a time.
func (h *histogram) Weight(at time.Time) float64 {
	if h.total == 0 || checkTime(at) != nil {
		return 0
	}
	return h.total * math.Exp2(-float64(at.UnixNano()-h.reference*h.halfLife)/float64(h.halfLife))
}
