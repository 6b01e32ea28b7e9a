package profile

import (
	"time"
	"unique"
)

// HistoryConfig says what a History keeps. It is a plain value, safe for concurrent
// reading.
type HistoryConfig struct {
	// Scale of the values; the zero value means CPU.
	Scale Scale
	// HalfLife of a sample's weight; 0 means 24 hours, the autoscaler's for CPU.
	HalfLife time.Duration
	// PeakHalfLife is an eighth of how long a peak is remembered; 0 means 48 hours,
	// so that a peak of two weeks ago counts, and peaks are those of days.
	PeakHalfLife time.Duration
	// Slots of equal length that a day is divided into; 0 means 4, 1 means none.
	Slots int
	// Zone is where a day begins; nil means UTC.
	Zone *time.Location
}

const (
	defaultHalfLife     = 24 * time.Hour
	defaultPeakHalfLife = 48 * time.Hour
	defaultSlots        = 4
	maxSlots            = 24
	day                 = 24 * time.Hour
	// slotDays is how many days a slot has to be known for to count for itself:
	// the same hours of one day say little about the next.
	slotDays = 2
	// peakHalfLives is the age at which a sample weighs 2⁻⁸ and its peak is
	// forgotten, in half-lives; peaks are kept by halves of them.
	peakHalfLives = 8
	peakSpans     = 2*peakHalfLives + 1
	// recentSpan and recentSpans are how the last hours' peaks are kept.
	recentSpan, recentSpans = 5 * time.Minute, 36
)

func (c HistoryConfig) withDefaults() HistoryConfig {
	if c.Scale == (Scale{}) {
		c.Scale = CPU
	}
	if c.HalfLife == 0 {
		c.HalfLife = defaultHalfLife
	}
	if c.PeakHalfLife == 0 {
		c.PeakHalfLife = defaultPeakHalfLife
	}
	if c.Slots == 0 {
		c.Slots = defaultSlots
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	return c
}

// Validate refuses what is out of range.
func (c HistoryConfig) Validate() error {
	c = c.withDefaults()
	if err := c.Scale.Validate(); err != nil {
		return err
	}
	if c.HalfLife < time.Millisecond {
		return refuse("HistoryConfig.HalfLife", c.HalfLife, "at least 1ms, or 0 for the default")
	}
	if c.PeakHalfLife < 2*time.Millisecond {
		return refuse("HistoryConfig.PeakHalfLife", c.PeakHalfLife, "at least 2ms, or 0 for the default")
	}
	if c.Slots < 0 || c.Slots > maxSlots {
		return refuse("HistoryConfig.Slots", c.Slots, "from 1 to 24, or 0 for the default")
	}
	return nil
}

// History is what is kept of one resource of one container, for recommendations:
// the weighted histogram and the peaks of each slot, which make those of the day, and
// the peaks of the last three hours. A History is for one goroutine at a time.
type History struct {
	config unique.Handle[HistoryConfig] // thousands have the same
	slots  []*samplesOf                 // nil: nothing was sampled in it
	recent Peaks
}

// samplesOf are those of a slot of the day.
type samplesOf struct {
	histogram Histogram
	peaks     Peaks
	days      int   // with samples
	lastDay   int64 // since 1970, in the zone
}

// NewHistory returns an empty history.
func NewHistory(c HistoryConfig) (*History, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	h := newHistory(c.withDefaults())
	return &h, nil
}

// newHistory is of a configuration that was validated and has no defaults left.
func newHistory(c HistoryConfig) History {
	return History{config: unique.Make(c), slots: make([]*samplesOf, c.Slots), recent: Peaks{span: int64(recentSpan), spans: recentSpans}}
}

func (h *History) newSamples() *samplesOf {
	c := h.config.Value()
	return &samplesOf{
		histogram: Histogram{scale: scalingOf(c.Scale), halfLife: int64(c.HalfLife)},
		peaks:     Peaks{span: int64(c.PeakHalfLife / 2), spans: peakSpans},
	}
}

// Add adds a sample, as Histogram.Add.
func (h *History) Add(at time.Time, value, weight float64) error {
	slot, today := slotOf(at, h.config.Value().Zone, len(h.slots))
	samples := h.slots[slot]
	if samples == nil {
		samples = h.newSamples()
	}
	if err := samples.add(at, today, value, weight); err != nil {
		return err
	}
	h.slots[slot] = samples // a refused sample makes none
	return h.recent.Add(at, value)
}

func (s *samplesOf) none() bool {
	return s.histogram.total == 0 && s.peaks.largest == nil && s.peaks.newest == 0 && s.days == 0 && s.lastDay == 0
}

func (s *samplesOf) add(at time.Time, today int64, value, weight float64) error {
	if err := s.histogram.Add(at, value, weight); err != nil {
		return err
	}
	if today > s.lastDay {
		s.days, s.lastDay = s.days+1, today
	}
	return s.peaks.Add(at, value)
}

// slotOf is the slot of the day that a time falls into, and the day. The first hours of 1970
// are of the day before where the zone is west of UTC.
func slotOf(at time.Time, zone *time.Location, slots int) (slot int, today int64) {
	local := at.In(zone)
	_, offset := local.Zone()
	seconds := local.Unix() + int64(offset)
	ofDay := (seconds%86400 + 86400) % 86400
	return int(ofDay * int64(slots) / 86400), (seconds - ofDay) / 86400
}

// Rule makes a recommendation of a History. It is a plain value, safe for
// concurrent reading.
type Rule struct {
	// HalfLife is that of the history the rule is meant for; Target takes what it is
	// given.
	HalfLife time.Duration
	// Percentile of the weighted samples, in (0, 1]; 0 means the largest sample
	// that weighs at least 2⁻⁸.
	Percentile float64
	// Daily takes the percentile of the days' largest samples, weighted by HalfLife.
	Daily bool
	// Mean takes the weighted mean, whatever the percentile.
	Mean bool
	// Pods takes that percentile of the peaks of pods' memory, if that is more. A
	// History knows no pods: it is Profile.Recommend that looks. 0 means no.
	Pods float64
	// Recent takes the largest sample of that last time, if that is more; up to 3
	// hours. 0 means no.
	Recent time.Duration
	// Margin is added to it, as a share; LeastMargin is the least that is, in cores
	// or bytes.
	Margin, LeastMargin float64
	// Least is the least that is recommended, in cores or bytes.
	Least float64
	// Slots looks at the samples of the same slot of the day alone, once they are
	// of two days.
	Slots bool
}

// Validate refuses what is out of range.
func (r Rule) Validate() error {
	switch {
	case !(r.Percentile >= 0) || r.Percentile > 1:
		return refuse("Rule.Percentile", r.Percentile, "in [0, 1]")
	case !(r.Pods >= 0) || r.Pods > 1:
		return refuse("Rule.Pods", r.Pods, "in [0, 1]")
	case r.Recent < 0 || r.Recent > recentSpan*recentSpans:
		return refuse("Rule.Recent", r.Recent, "from 0 to 3h")
	case r.HalfLife < 0:
		return refuse("Rule.HalfLife", r.HalfLife, "not negative")
	case !(r.Margin >= 0) || r.Margin > 100:
		return refuse("Rule.Margin", r.Margin, "in [0, 100]")
	case !(r.LeastMargin >= 0) || r.LeastMargin > maxBytes:
		return refuse("Rule.LeastMargin", r.LeastMargin, "in [0, 2^50]")
	case !(r.Least >= 0) || r.Least > maxBytes:
		return refuse("Rule.Least", r.Least, "in [0, 2^50]")
	}
	return nil
}

// above is what the rule makes of a level: the margin, and no less than the least.
func (r Rule) above(level float64) float64 {
	if level == 0 {
		return 0 // nothing is known
	}
	return max(level+max(r.Margin*level, r.LeastMargin), r.Least)
}

// Target is what the rule says is enough from a time on, 0 without samples.
func (h *History) Target(at time.Time, r Rule) float64 { return r.above(h.level(at, r)) }

// level is the target without margins.
func (h *History) level(at time.Time, r Rule) float64 {
	of := h.of(at, r)
	level := 0.
	switch {
	case r.Mean:
		level = of.histogram.Mean()
	case r.Percentile == 0:
		level = of.peaks.Max(at)
	case r.Daily:
		level = of.peaks.quantile(r.Percentile, h.config.Value().HalfLife)
	default:
		level = of.histogram.Quantile(r.Percentile)
	}
	if r.Recent > 0 {
		level = max(level, h.recent.maxSince(at, r.Recent))
	}
	return level
}

// of are the samples that a rule looks at: the slot's, or the day's. They are not to be
// changed.
func (h *History) of(at time.Time, r Rule) *samplesOf {
	if r.Slots {
		slot, _ := slotOf(at, h.config.Value().Zone, len(h.slots))
		if s := h.slots[slot]; s != nil && s.days >= slotDays {
			return s
		}
	}
	var day *samplesOf
	merged := false
	for _, s := range h.slots {
		switch {
		case s == nil:
			continue
		case day == nil:
			day = s
			continue
		case !merged:
			day, merged = &samplesOf{histogram: *day.histogram.clone(), peaks: *day.peaks.clone()}, true
		}
		// All are of the same scale, half-life and spans.
		_ = day.histogram.Merge(&s.histogram)
		_ = day.peaks.Merge(&s.peaks)
	}
	if day == nil {
		return h.newSamples()
	}
	return day
}
