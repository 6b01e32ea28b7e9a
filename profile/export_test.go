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

// WithHalfLives returns c with other half-lives than the defaults.
func (c Config) WithHalfLives(cpu, memory, pods time.Duration) Config {
	c.cpuHalfLife, c.memoryHalfLife, c.podHalfLife = cpu, memory, pods
	return c
}

// HalfLives returns the half-lives of CPU and memory.
func (c Config) HalfLives() (cpu, memory time.Duration) { return c.cpuHalfLife, c.memoryHalfLife }

// WithSlotEvidence returns c with slots that count for themselves once they have seen so much.
func (c Config) WithSlotEvidence(pods, days int) Config {
	c.slotPods, c.slotDays = pods, days
	return c
}

// Weight is the weight of all samples at a time.
func (h *histogram) Weight(at time.Time) float64 { return h.weight(at) }

func (h *histogram) Add(at time.Time, value, weight float64) error { return h.add(at, value, weight) }
func (h *histogram) Quantile(p float64) float64                    { return h.quantile(p) }
func (h *histogram) Mean() float64                                 { return h.mean() }
func (h *histogram) Merge(o *histogram) error                      { return h.merge(o) }
func (h *histogram) State() histogramState                         { return h.state() }
func (s histogramState) Histogram() (*histogram, error)            { return s.histogram() }
func (p *peaks) Add(at time.Time, value float64) error             { return p.addAt(at, value) }
func (p *peaks) Max(at time.Time) float64                          { return p.maxAt(at) }
func (p *peaks) Merge(o *peaks) error                              { return p.merge(o) }
func (p *peaks) State() peaksState                                 { return p.state() }
func (s peaksState) Peaks() (*peaks, error)                        { return s.peaks() }

// Merge returns the evidence of both.
func (e Evidence) Merge(o Evidence, halfLife time.Duration) Evidence { return e.merge(o, halfLife) }

// Upper is the value that bucket i ends at.
func (s Scale) Upper(i int) float64 { return s.upper(i) }

// Validate refuses a scale without order.
func (s Scale) Validate() error { return s.validate() }

// Validate refuses bounds that no amount lies within.
func (b Bounds) Validate() error { return b.validate() }
