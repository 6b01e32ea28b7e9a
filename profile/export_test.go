package profile

import (
	"time"
)

// These are exported for tests of the package from outside.

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
