package profile_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

var start = time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)

type sample struct {
	at            time.Time
	value, weight float64
}

// samples have uneven times, with repetitions, over some half-lives.
func samples(r *rand.Rand, n int) []sample {
	s := make([]sample, n)
	at := start
	for i := range s {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(10*time.Minute)).Round(time.Minute))
		s[i] = sample{at, .02 * math.Exp(r.NormFloat64()), []float64{1, .25, 1.5}[r.IntN(3)]}
	}
	return s
}

func newHistogram(t testing.TB, halfLife time.Duration) *profile.Histogram {
	t.Helper()
	h, err := profile.NewHistogram(profile.CPU, halfLife)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func addAll(t testing.TB, h *profile.Histogram, s []sample) {
	t.Helper()
	for _, s := range s {
		if err := h.Add(s.at, s.value, s.weight); err != nil {
			t.Fatal(err)
		}
	}
}

// twin keeps every sample.
type twin struct {
	samples  []sample
	halfLife time.Duration
}

func (w twin) weight(at time.Time) (sum float64) {
	for _, s := range w.samples {
		sum += s.weight * math.Pow(.5, at.Sub(s.at).Hours()/w.halfLife.Hours())
	}
	return sum
}

// edges returns the buckets' ends as sums of their widths.
func edges() []float64 {
	edge, width := 0., .01
	var all []float64
	for range 176 {
		edge += width
		width *= 1.05
		all = append(all, edge)
	}
	return all
}

// quantile returns the least edge with the share p of the weight below it.
func (w twin) quantile(p float64) float64 {
	at := w.samples[0].at
	need := p * w.weight(at) * (1 - 1e-9)
	all := edges()
	for _, edge := range all[:175] {
		sum := 0.
		for _, s := range w.samples {
			if s.value < edge {
				sum += s.weight * math.Pow(.5, at.Sub(s.at).Hours()/w.halfLife.Hours())
			}
		}
		if sum >= need && sum > 0 {
			return edge
		}
	}
	return all[174]
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (w twin) compare(t *testing.T, h *profile.Histogram) {
	t.Helper()
	at := w.samples[len(w.samples)-1].at
	near(t, "weight", h.Weight(at), w.weight(at))
	near(t, "weight an hour on", h.Weight(at.Add(time.Hour)), w.weight(at.Add(time.Hour)))
	for _, p := range []float64{0, .01, .3, .5, .9, .95, .98, .999, 1} {
		near(t, "quantile", h.Quantile(p), w.quantile(p))
	}
}

func TestHistogramEqualsEverySampleKept(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := samples(r, 1+r.IntN(300))
		halfLife := []time.Duration{time.Hour, 24 * time.Hour, 48 * time.Hour}[r.IntN(3)]
		w := twin{s, halfLife}

		ordered := newHistogram(t, halfLife)
		addAll(t, ordered, s)
		w.compare(t, ordered)

		shuffled := append([]sample(nil), s...)
		r.Shuffle(len(s), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		mixed := newHistogram(t, halfLife)
		addAll(t, mixed, shuffled)
		w.compare(t, mixed)

		parts := make([]*profile.Histogram, 4)
		for i := range parts {
			parts[i] = newHistogram(t, halfLife)
		}
		for _, s := range shuffled {
			addAll(t, parts[r.IntN(4)], []sample{s})
		}
		merged := newHistogram(t, halfLife)
		for _, i := range r.Perm(4) {
			if err := merged.Merge(parts[i]); err != nil {
				t.Fatal(err)
			}
		}
		w.compare(t, merged)

		restored, err := merged.State().Histogram()
		if err != nil {
			t.Fatal(err)
		}
		w.compare(t, restored)
		if d := cmp.Diff(merged.State(), restored.State()); d != "" {
			t.Errorf("state (-before +after):\n%s", d)
		}
	}
}

// A sample's weight decays, its value does not: an old peak is still as high.
func TestHistogramDecaysWeights(t *testing.T) {
	h := newHistogram(t, time.Hour)
	addAll(t, h, []sample{{start, 10, 1}, {start.Add(3 * time.Hour), 1, 1}})
	if got := h.Quantile(1); got < 10 {
		t.Errorf("P100 is %v, want at least 10", got)
	}
	near(t, "weight", h.Weight(start.Add(3*time.Hour)), 1.125)
	// 1 of 1.125 is .889 of the weight.
	if got := h.Quantile(.88); got > 1.06 {
		t.Errorf("P88 is %v, want the newer sample's bucket", got)
	}
	if got := h.Quantile(.9); got < 10 {
		t.Errorf("P90 is %v, want the older sample's bucket", got)
	}
}

func TestHistogramOutOfScale(t *testing.T) {
	h := newHistogram(t, time.Hour)
	if got := h.Quantile(.5); got != 0 {
		t.Errorf("quantile of nothing: %v", got)
	}
	addAll(t, h, []sample{{start, 1e9, 1}})
	near(t, "above the scale", h.Quantile(.5), edges()[174])
	h = newHistogram(t, time.Hour)
	addAll(t, h, []sample{{start, 0, 1}})
	near(t, "zero", h.Quantile(.5), .01)
	for _, p := range []float64{-1, 2, math.NaN()} {
		if got := h.Quantile(p); got != .01 {
			t.Errorf("quantile %v: %v", p, got)
		}
	}
	// A sample a thousand half-lives old is gone, without an error.
	addAll(t, h, []sample{{start.Add(3000 * time.Hour), 5, 1}, {start, 50, 1}})
	near(t, "weight", h.Weight(start.Add(3000*time.Hour)), 1)
	if got := h.Quantile(1); got < 5 || got > 5.3 {
		t.Errorf("P100 is %v", got)
	}
}

func TestHistogramRefuses(t *testing.T) {
	h := newHistogram(t, time.Hour)
	addAll(t, h, []sample{{start, 1, 1}})
	before := h.State()
	other, err := profile.NewHistogram(profile.Memory, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for field, err := range map[string]error{
		"value": errors.Join(h.Add(start, math.NaN(), 1), h.Add(start, -1, 1), h.Add(start, math.Inf(1), 1)),
		"weight": errors.Join(h.Add(start, 1, 0), h.Add(start, 1, -1), h.Add(start, 1, math.NaN()),
			h.Add(start, 1, math.Inf(1))),
		"at":        errors.Join(h.Add(time.Time{}, 1, 1), h.Add(start.AddDate(1000, 0, 0), 1, 1)),
		"histogram": h.Merge(nil),
		"Scale":     h.Merge(other),
		"HalfLife":  h.Merge(newHistogram(t, 2*time.Hour)),
	} {
		refused(t, field, err)
	}
	if d := cmp.Diff(before, h.State()); d != "" {
		t.Errorf("the state changed (-before +after):\n%s", d)
	}
	_, err = profile.NewHistogram(profile.CPU, 0)
	refused(t, "halfLife", err)
	for field, s := range map[string]profile.Scale{
		"Scale.First": {First: 0, Ratio: 2, Buckets: 9}, "Scale.Ratio": {First: 1, Ratio: 1, Buckets: 9},
		"Scale.Buckets": {First: 1, Ratio: 2, Buckets: 1}, "Scale": {First: 1, Ratio: 100, Buckets: 999},
	} {
		_, err := profile.NewHistogram(s, time.Hour)
		refused(t, field, err)
	}
}

// refused checks that an error, or each joined one, names the field.
func refused(t *testing.T, name string, err error) {
	t.Helper()
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		var f *field.Error
		if !errors.As(err, &f) || f.Field != name || !errors.Is(err, profile.ErrInvalid) {
			t.Errorf("%v, want a *field.Error of %s", err, name)
		}
	}
}

func TestHistogramStateRefuses(t *testing.T) {
	h := newHistogram(t, time.Hour)
	addAll(t, h, []sample{{start, 1, 1}, {start, 2, 1}})
	for field, change := range map[string]func(*profile.HistogramState){
		"Low":       func(s *profile.HistogramState) { s.Low = 175 },
		"Reference": func(s *profile.HistogramState) { s.Reference = -1 },
		"Weights":   func(s *profile.HistogramState) { s.Weights[0] = math.NaN() },
		"halfLife":  func(s *profile.HistogramState) { s.HalfLife = -1 },
	} {
		s := h.State()
		change(&s)
		_, err := s.Histogram()
		refused(t, field, err)
	}
}

// Buckets without weight are not stored, and a sample of zero survives a merge.
func TestStatesAreTrimmed(t *testing.T) {
	h, err := profile.HistogramState{Scale: profile.CPU, HalfLife: time.Hour, Reference: 5, Low: 3, Weights: []float64{0, 2, 0, 1, 0, 0}}.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	want := profile.HistogramState{Scale: profile.CPU, HalfLife: time.Hour, Reference: 5, Low: 4, Weights: []float64{2, 0, 1}}
	if d := cmp.Diff(want, h.State()); d != "" {
		t.Error(d)
	}
	if got, want := h.Quantile(0), profile.CPU.Upper(4); got != want {
		t.Errorf("the least %v, want %v", got, want)
	}
	a, err := profile.NewPeaks(time.Hour, 3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := profile.NewPeaks(time.Hour, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Add(start, 0), b.Merge(a)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a.State(), b.State()); d != "" {
		t.Error(d)
	}
}

func TestScale(t *testing.T) {
	if err := (profile.Scale{First: 1, Ratio: 1.1, Buckets: 1024}).Validate(); err != nil {
		t.Error(err)
	}
	all := edges()
	for i, edge := range all {
		near(t, "upper", profile.CPU.Upper(i), edge)
		if got := profile.CPU.Bucket(edge * (1 - 1e-9)); got != i {
			t.Errorf("just below edge %d: bucket %d", i, got)
		}
		if got := profile.CPU.Bucket(edge * (1 + 1e-9)); got != min(i+1, 175) {
			t.Errorf("just above edge %d: bucket %d", i, got)
		}
	}
	// The recommender's scales reach 1,000 cores and 1 TB.
	if got := profile.CPU.Bucket(1000); got != 174 {
		t.Errorf("1,000 cores: bucket %d", got)
	}
	if got := profile.Memory.Bucket(1e12); got != 174 {
		t.Errorf("1 TB: bucket %d", got)
	}
}

func TestPeaksEqualEverySampleKept(t *testing.T) {
	const span, kept = time.Hour, 9
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := samples(r, 200)
		parts := make([]*profile.Peaks, 3)
		for i := range parts {
			var err error
			if parts[i], err = profile.NewPeaks(span, kept); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range r.Perm(len(s)) {
			if err := parts[r.IntN(3)].Add(s[i].at, s[i].value); err != nil {
				t.Fatal(err)
			}
		}
		p := parts[0]
		for _, o := range parts[1:] {
			if err := p.Merge(o); err != nil {
				t.Fatal(err)
			}
		}
		restored, err := p.State().Peaks()
		if err != nil {
			t.Fatal(err)
		}
		last := s[len(s)-1].at
		for _, at := range []time.Time{last, last.Add(3 * time.Hour), last.Add(20 * time.Hour)} {
			want := 0.
			for _, s := range s {
				if !s.at.Before(at.Truncate(span).Add(-(kept - 1) * span)) {
					want = math.Max(want, s.value)
				}
			}
			if p.Max(at) != want || restored.Max(at) != want {
				t.Errorf("seed %d: largest %v, restored %v, want %v", seed, p.Max(at), restored.Max(at), want)
			}
		}
	}
}

// However far apart samples are, and in which order, each of the last spans has its largest.
func TestPeaksKeepEachSpan(t *testing.T) {
	const kept = 9
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		p, err := profile.NewPeaks(time.Hour, kept)
		if err != nil {
			t.Fatal(err)
		}
		of, newest, n := map[int64]float64{}, int64(0), int64(r.IntN(2*kept)) // some from 1970 on
		for range 40 {
			n = max(0, n+int64(r.IntN(2*kept+2))-int64(r.IntN(kept+2)))
			value := r.ExpFloat64()
			if err := p.Add(time.Unix(3600*n+int64(r.IntN(3600)), 0), value); err != nil {
				t.Fatal(err)
			}
			newest = max(newest, n)
			if n > newest-kept {
				of[n] = max(of[n], value)
			}
			want := profile.PeaksState{Span: time.Hour, Newest: newest, Largest: make([]float64, kept)}
			for i := range want.Largest {
				v, there := of[newest-int64(kept-1-i)]
				if want.Largest[i] = v; !there {
					want.Largest[i] = -1
				}
			}
			restored, err := p.State().Peaks()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, p.State()) + cmp.Diff(want, restored.State()); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}

func TestPeaksRefuse(t *testing.T) {
	p, err := profile.NewPeaks(time.Hour, 4)
	if err != nil {
		t.Fatal(err)
	}
	o, err := profile.NewPeaks(time.Minute, 4)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "value", errors.Join(p.Add(start, -1), p.Add(start, math.Inf(1)), p.Add(start, math.NaN())))
	refused(t, "at", p.Add(time.Time{}, 1))
	refused(t, "span", p.Merge(o))
	refused(t, "peaks", p.Merge(nil))
	_, err = profile.NewPeaks(0, 1)
	refused(t, "span", err)
	_, err = profile.NewPeaks(time.Hour, 0)
	refused(t, "spans", err)
	s := p.State()
	s.Largest[1] = -2
	_, err = s.Peaks()
	refused(t, "Largest", err)
	s = p.State()
	s.Newest = -1
	_, err = s.Peaks()
	refused(t, "Newest", err)
}

func FuzzHistogramState(f *testing.F) {
	f.Add(.01, 1.05, 176, int64(time.Hour), int64(400000), 3, 1., 2.)
	f.Add(1., 2., 4, int64(time.Second), int64(1), 2, 0., 1e300)
	f.Fuzz(func(t *testing.T, first, ratio float64, buckets int, halfLife, reference int64, low int, a, b float64) {
		s := profile.HistogramState{
			Scale:    profile.Scale{First: first, Ratio: ratio, Buckets: buckets},
			HalfLife: time.Duration(halfLife), Reference: reference, Low: low, Weights: []float64{a, b},
		}
		h, err := s.Histogram()
		if err != nil {
			if !errors.Is(err, profile.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		at := start.Add(time.Hour)
		for _, v := range []float64{0, first, 1, 1e30} {
			if err := h.Add(at, v, 1); err != nil {
				t.Fatal(err)
			}
		}
		before := h.State()
		again, err := before.Histogram()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, again.State()); d != "" {
			t.Fatal(d)
		}
		if err := again.Merge(h); err != nil {
			t.Fatal(err)
		}
		low98, high := h.Quantile(.98), h.Quantile(1)
		if !(low98 > 0) || !(high >= low98) || math.IsInf(high, 1) {
			t.Fatalf("P98 %v, P100 %v", low98, high)
		}
		if got, want := again.Weight(at), 2*h.Weight(at); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("twice the samples weigh %v, want %v", got, want)
		}
	})
}

func FuzzHistogramMerge(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 100, 7, 9, 9}, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, split uint8) {
		whole, a, b := newHistogram(t, time.Hour), newHistogram(t, time.Hour), newHistogram(t, time.Hour)
		for i := 0; i+2 < len(data); i += 3 {
			at := start.Add(time.Duration(data[i]) * 7 * time.Minute)
			value, weight := math.Exp(float64(data[i+1])/16-4), 1+float64(data[i+2])
			addAll(t, whole, []sample{{at, value, weight}})
			part := a
			if data[i+2]%7 < split%7 {
				part = b
			}
			addAll(t, part, []sample{{at, value, weight}})
		}
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(whole.State(), a.State(), cmp.Comparer(func(x, y float64) bool {
			return math.Abs(x-y) <= 1e-12*math.Max(1, math.Max(math.Abs(x), math.Abs(y)))
		})); d != "" {
			t.Fatalf("whole and merged differ:\n%s", d)
		}
	})
}
