package profile

import (
	"cmp"
	"math"
	"slices"
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
	// Slots of equal length that a day is divided into; 0 means 4, 1 means none.
	Slots int
	// Zone is where a day begins; nil means UTC.
	Zone *time.Location
}

const (
	defaultHalfLife = 24 * time.Hour
	// peakHalfLife is an eighth of how long a peak is remembered, so that one of two weeks
	// ago counts, and peaks are those of days.
	peakHalfLife = 48 * time.Hour
	defaultSlots = 4
	maxSlots     = 24
	day          = 24 * time.Hour
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
	c.Scale = cmp.Or(c.Scale, CPU)
	c.HalfLife = cmp.Or(c.HalfLife, defaultHalfLife)
	c.Slots = cmp.Or(c.Slots, defaultSlots)
	c.Zone = cmp.Or(c.Zone, time.UTC)
	return c
}

func (c HistoryConfig) validate() error {
	c = c.withDefaults()
	if err := c.Scale.validate(); err != nil {
		return err
	}
	if c.HalfLife < time.Millisecond {
		return refuse("HistoryConfig.HalfLife", c.HalfLife, "at least 1ms, or 0 for the default")
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
	recent peaks
}

// samplesOf are those of a slot of the day.
type samplesOf struct {
	histogram histogram
	peaks     peaks
	days      int   // with samples
	lastDay   int64 // since 1970, in the zone
}

// NewHistory returns an empty history.
func NewHistory(c HistoryConfig) (*History, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	h := newHistory(c.withDefaults())
	return &h, nil
}

// newHistory is of a configuration that was validated and has no defaults left.
func newHistory(c HistoryConfig) History {
	return History{config: unique.Make(c), slots: make([]*samplesOf, c.Slots), recent: peaksOf(recentSpan, recentSpans)}
}

func (h *History) newSamples() *samplesOf {
	c := h.config.Value()
	return &samplesOf{
		histogram: histogram{scale: c.Scale, halfLife: int64(c.HalfLife)},
		peaks:     peaksOf(peakHalfLife/2, peakSpans),
	}
}

// Add adds a sample, as histogram.add.
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
	return h.recent.addAt(at, value)
}

func (s *samplesOf) none() bool {
	return s.histogram.total == 0 && s.peaks.newest == 0 && s.days == 0 && s.lastDay == 0
}

func (s *samplesOf) add(at time.Time, today int64, value, weight float64) error {
	if err := s.histogram.add(at, value, weight); err != nil {
		return err
	}
	if today > s.lastDay {
		s.days, s.lastDay = s.days+1, today
	}
	return s.peaks.addAt(at, value)
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
	case !(r.LeastMargin >= 0) || r.LeastMargin > MaxMemory:
		return refuse("Rule.LeastMargin", r.LeastMargin, "in [0, 2^50]")
	case !(r.Least >= 0) || r.Least > MaxMemory:
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
		level = of.histogram.mean()
	case r.Percentile == 0:
		level = of.peaks.maxAt(at)
	case r.Daily:
		level = of.peaks.quantile(r.Percentile, h.config.Value().HalfLife)
	default:
		level = of.histogram.quantile(r.Percentile)
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
		_ = day.histogram.merge(&s.histogram)
		_ = day.peaks.merge(&s.peaks)
	}
	if day == nil {
		return h.newSamples()
	}
	return day
}

// peaks holds the largest sample of each of the last few spans of time, which are
// counted from 1970, so that it depends on the samples alone, whatever their
// order, and merging takes the larger of each span. A peaks is for one goroutine
// at a time.
type peaks struct {
	span   int64 // ns
	newest int64 // number of the newest span that holds a sample
	// largest[n mod len] is the largest sample of span n, −1 without any.
	largest []float64
}

// newPeaks returns empty peaks over the last spans of that length.
func newPeaks(span time.Duration, spans int) (*peaks, error) {
	if span < time.Millisecond {
		return nil, refuse("span", span, "at least 1ms")
	}
	if spans < 1 || spans > maxBuckets {
		return nil, refuse("spans", spans, "from 1 to 1024")
	}
	p := peaksOf(span, spans)
	return &p, nil
}

// peaksOf is newPeaks of what is valid.
func peaksOf(span time.Duration, spans int) peaks {
	return peaks{span: int64(span), largest: slices.Repeat([]float64{-1}, spans)}
}

// addAt adds a sample, which must be finite and not negative. One older than the
// spans kept is left out.
func (p *peaks) addAt(at time.Time, value float64) error {
	if err := checkTime(at); err != nil {
		return err
	}
	if !(value >= 0) || math.IsInf(value, 1) {
		return refuse("value", value, "finite and not negative")
	}
	p.add(at.UnixNano()/p.span, value)
	return nil
}

func (p *peaks) add(n int64, value float64) {
	spans := int64(len(p.largest))
	for p.newest = max(p.newest, n-spans); p.newest < n; { // spans that leave are forgotten
		p.newest++
		p.largest[p.newest%spans] = -1
	}
	if n >= p.first() {
		p.largest[n%spans] = max(p.largest[n%spans], value)
	}
}

// maxAt is the largest sample of the span of a time and the spans before it that are
// kept, 0 without any.
func (p *peaks) maxAt(at time.Time) float64 {
	if checkTime(at) != nil {
		return 0
	}
	return p.max(max(at.UnixNano()/p.span, p.newest) - int64(len(p.largest)) + 1)
}

// maxSince is the largest sample of the spans that lie within the last time whole.
func (p *peaks) maxSince(at time.Time, last time.Duration) float64 {
	if checkTime(at) != nil {
		return 0
	}
	return p.max(at.UnixNano()/p.span - int64(last)/p.span + 1)
}

// max is the largest sample of the spans from one on.
func (p *peaks) max(from int64) (largest float64) {
	for n := max(from, p.first()); n <= p.newest; n++ {
		largest = max(largest, p.of(n))
	}
	return largest
}

// first is the oldest span that is kept.
func (p *peaks) first() int64 { return max(p.newest-int64(len(p.largest))+1, 0) }

// of is the largest sample of a span up to the newest, −1 without any.
func (p *peaks) of(n int64) float64 {
	if n < 0 || n <= p.newest-int64(len(p.largest)) {
		return -1
	}
	return p.largest[n%int64(len(p.largest))]
}

// quantile is the largest sample of a span below or at which the share p of the
// spans' weight lies, each halved every half-life of its age; 0 without samples.
func (p *peaks) quantile(share float64, halfLife time.Duration) float64 {
	type weighed struct{ value, weight float64 }
	var spans []weighed
	total := 0.
	for n := p.first(); n <= p.newest; n++ {
		if v := p.of(n); v >= 0 {
			w := math.Exp2(-float64((p.newest-n)*p.span) / float64(halfLife))
			spans, total = append(spans, weighed{v, w}), total+w
		}
	}
	slices.SortFunc(spans, func(a, b weighed) int { return cmp.Compare(a.value, b.value) })
	below := 0.
	for _, s := range spans {
		if below += s.weight; below >= total*(share-tie) {
			return s.value
		}
	}
	return 0
}

// merge adds the samples of other peaks of the same spans, which is not modified.
func (p *peaks) merge(o *peaks) error {
	if o == nil {
		return refuse("peaks", o, "given")
	}
	if o.span != p.span || len(o.largest) != len(p.largest) {
		return refuse("span", time.Duration(o.span), "the same, and as many")
	}
	for n := o.first(); n <= o.newest; n++ {
		if v := o.of(n); v >= 0 {
			p.add(n, v)
		}
	}
	return nil
}

func (p *peaks) clone() *peaks {
	c := *p
	c.largest = slices.Clone(p.largest)
	return &c
}

// peaksState is peaks to store. Largest are by span, the newest last and −1
// where there was no sample. It is a plain value, safe for concurrent reading.
type peaksState struct {
	Span    time.Duration
	Newest  int64
	Largest []float64
}

// state returns a copy of the state.
func (p *peaks) state() peaksState {
	s := peaksState{Span: time.Duration(p.span), Newest: p.newest, Largest: make([]float64, len(p.largest))}
	for i := range s.Largest {
		s.Largest[i] = -1
		if n := p.newest - int64(len(p.largest)-1-i); n >= 0 {
			s.Largest[i] = p.of(n)
		}
	}
	return s
}

// peaks returns the peaks that the state is of.
func (s peaksState) peaks() (*peaks, error) {
	p, err := newPeaks(s.Span, len(s.Largest))
	if err != nil {
		return nil, err
	}
	if s.Newest < 0 || s.Newest > lastSecond*1e9/p.span {
		return nil, refuse("Newest", s.Newest, "the span of a time from 1970 to 2255")
	}
	if i := slices.IndexFunc(s.Largest, func(v float64) bool { return v != -1 && !(v >= 0) || math.IsInf(v, 1) }); i >= 0 {
		return nil, refuse("Largest", s.Largest[i], "-1, or finite and not negative")
	}
	p.newest = s.Newest
	for i, v := range s.Largest {
		if n := s.Newest - int64(len(p.largest)-1-i); n >= 0 && v >= 0 {
			p.add(n, v)
		}
	}
	return p, nil
}
