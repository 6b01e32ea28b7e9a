package profile

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Peaks holds the largest sample of each of the last few spans of time, which are
// counted from 1970, so that it depends on the samples alone, whatever their
// order, and merging takes the larger of each span. A Peaks is for one goroutine
// at a time.
type Peaks struct {
	span   int64 // ns
	spans  int
	newest int64 // number of the newest span that holds a sample
	// largest[n mod len] is the largest sample of span n, −1 without any. It grows with
	// the spans between the oldest sample and the newest, for most workloads are young:
	// where it is shorter than the spans kept, the older ones hold no sample.
	largest []float64
}

// NewPeaks returns an empty Peaks over the last spans of that length.
func NewPeaks(span time.Duration, spans int) (*Peaks, error) {
	if span < time.Millisecond {
		return nil, refuse("span", span, "at least 1ms")
	}
	if spans < 1 || spans > maxBuckets {
		return nil, refuse("spans", spans, "from 1 to 1024")
	}
	return &Peaks{span: int64(span), spans: spans}, nil
}

func (p *Peaks) clear() {
	for i := range p.largest {
		p.largest[i] = -1
	}
}

// Add adds a sample, which must be finite and not negative. One older than the
// spans kept is left out.
func (p *Peaks) Add(at time.Time, value float64) error {
	if err := checkTime(at); err != nil {
		return err
	}
	if !(value >= 0) || math.IsInf(value, 1) {
		return refuse("value", value, "finite and not negative")
	}
	p.add(at.UnixNano()/p.span, value)
	return nil
}

func (p *Peaks) add(n int64, value float64) {
	p.advance(n)
	if n < p.first() {
		return
	}
	for p.largest == nil || n <= p.newest-int64(len(p.largest)) {
		p.grow()
	}
	i := n % int64(len(p.largest))
	p.largest[i] = max(p.largest[i], value)
}

// advance forgets the spans that leave when n comes.
func (p *Peaks) advance(n int64) {
	if n-p.newest >= int64(p.spans) {
		p.clear()
		p.newest = n
	}
	for p.newest < n {
		size := int64(len(p.largest))
		if size > 0 && size < int64(p.spans) && p.of(p.newest+1-size) >= 0 {
			p.grow() // else a sample would be lost that is young enough
			continue
		}
		if p.newest++; size > 0 {
			p.largest[p.newest%size] = -1
		}
	}
}

// grow makes room for twice the spans.
func (p *Peaks) grow() {
	size := int64(min(max(1, 2*len(p.largest)), p.spans))
	wider := make([]float64, size)
	for n := p.newest; n > p.newest-size; n-- {
		wider[(n+size)%size] = p.of(n)
	}
	p.largest = wider
}

// Max is the largest sample of the span of a time and the spans before it that are
// kept, 0 without any.
func (p *Peaks) Max(at time.Time) float64 {
	if checkTime(at) != nil {
		return 0
	}
	return p.max(max(at.UnixNano()/p.span, p.newest) - int64(p.spans) + 1)
}

// maxSince is the largest sample of the spans that lie within the last time whole.
func (p *Peaks) maxSince(at time.Time, last time.Duration) float64 {
	if checkTime(at) != nil {
		return 0
	}
	return p.max(at.UnixNano()/p.span - int64(last)/p.span + 1)
}

// max is the largest sample of the spans from one on.
func (p *Peaks) max(from int64) (largest float64) {
	for n := max(from, p.first()); n <= p.newest; n++ {
		largest = max(largest, p.of(n))
	}
	return largest
}

// first is the oldest span that is kept.
func (p *Peaks) first() int64 { return max(p.newest-int64(p.spans)+1, 0) }

// of is the largest sample of a span up to the newest, −1 without any.
func (p *Peaks) of(n int64) float64 {
	if n < 0 || n <= p.newest-int64(len(p.largest)) {
		return -1
	}
	return p.largest[n%int64(len(p.largest))]
}

// quantile is the largest sample of a span below or at which the share p of the
// spans' weight lies, each halved every half-life of its age; 0 without samples.
func (p *Peaks) quantile(share float64, halfLife time.Duration) float64 {
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

// Merge adds the samples of another Peaks of the same spans, which is not modified.
func (p *Peaks) Merge(o *Peaks) error {
	if o == nil {
		return refuse("peaks", o, "given")
	}
	if o.span != p.span || o.spans != p.spans {
		return refuse("span", time.Duration(o.span), "the same, and as many")
	}
	for n := o.first(); n <= o.newest; n++ {
		if v := o.of(n); v >= 0 {
			p.add(n, v)
		}
	}
	return nil
}

func (p *Peaks) clone() *Peaks {
	c := *p
	c.largest = slices.Clone(p.largest)
	return &c
}

// PeaksState is a Peaks to store. Largest are by span, the newest last and −1
// where there was no sample. It is a plain value, safe for concurrent reading.
type PeaksState struct {
	Span    time.Duration
	Newest  int64
	Largest []float64
}

// State returns a copy of the state.
func (p *Peaks) State() PeaksState {
	s := PeaksState{Span: time.Duration(p.span), Newest: p.newest, Largest: make([]float64, p.spans)}
	for i := range s.Largest {
		s.Largest[i] = -1
		if n := p.newest - int64(p.spans-1-i); n >= 0 {
			s.Largest[i] = p.of(n)
		}
	}
	return s
}

// Peaks returns the Peaks that the state is of.
func (s PeaksState) Peaks() (*Peaks, error) {
	p, err := NewPeaks(s.Span, len(s.Largest))
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
		if n := s.Newest - int64(p.spans-1-i); n >= 0 && v >= 0 {
			p.add(n, v)
		}
	}
	return p, nil
}
