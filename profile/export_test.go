package profile

import (
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
func (h *histogram) Weight(at time.Time) float64 { return h.weight(at) }
