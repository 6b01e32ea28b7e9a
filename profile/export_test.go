package profile

// What tests of the package outside of it look at.

type (
	Histogram      = histogram
	HistogramState = histogramState
	Peaks          = peaks
	PeaksState     = peaksState
)
