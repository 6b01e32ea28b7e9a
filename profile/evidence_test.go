package profile_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
)

const week = 7 * 24 * time.Hour

// moments are those of the values with their weights at a time, in two passes.
func moments(s []sample, at time.Time, halfLife time.Duration) (n, mean, variance float64) {
	weight := func(s sample) float64 { return s.weight * math.Pow(.5, at.Sub(s.at).Hours()/halfLife.Hours()) }
	for _, s := range s {
		n += weight(s)
		mean += weight(s) * s.value
	}
	mean /= n
	for _, s := range s {
		variance += weight(s) * (s.value - mean) * (s.value - mean)
	}
	return n, mean, variance / n
}

func latest(s []sample) time.Time {
	at := s[0].at
	for _, s := range s {
		if s.at.After(at) {
			at = s.at
		}
	}
	return at
}

func compareEvidence(t *testing.T, e profile.Evidence, s []sample, halfLife time.Duration) {
	t.Helper()
	n, mean, variance := moments(s, latest(s), halfLife)
	near(t, "pods", e.Pods, n)
	near(t, "mean", e.Mean, mean)
	near(t, "variance", e.Var, variance)
	if !e.At.Equal(latest(s)) {
		t.Errorf("at %v, want %v", e.At, latest(s))
	}
}

func TestEvidenceEqualsEverySampleKept(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := samples(r, 1+r.IntN(300))
		for i := range s {
			s[i].weight = 1 - r.Float64()
		}
		c := profile.EvidenceConfig{Steady: true}
		if seed%2 == 1 {
			c.HalfLife = time.Hour
		}
		halfLife := map[bool]time.Duration{true: week, false: time.Hour}[c.HalfLife == 0]
		var ordered, mixed profile.Evidence
		var parts [4]profile.Evidence
		for _, s := range s {
			ordered, _ = ordered.Take(s.at, s.value, s.weight, c)
		}
		for _, i := range r.Perm(len(s)) {
			s := s[i]
			mixed, _ = mixed.Take(s.at, s.value, s.weight, c)
			k := r.IntN(4)
			parts[k], _ = parts[k].Take(s.at, s.value, s.weight, c)
		}
		var merged profile.Evidence
		for _, i := range r.Perm(4) {
			merged = merged.Merge(parts[i], c)
		}
		for _, e := range []profile.Evidence{ordered, mixed, merged} {
			compareEvidence(t, e, s, halfLife)
		}
	}
}

// change detects as the document says it, with the samples in a list.
type naive struct {
	taken, doubts []sample
	floor         float64
}

func (w *naive) take(s sample) profile.Verdict {
	if len(w.taken) > 0 {
		at := latest(append(append([]sample(nil), w.taken...), w.doubts...))
		_, mean, variance := moments(w.taken, at, week)
		band := 3 * math.Max(math.Sqrt(variance), math.Max(math.Min(s.value, mean)/4, w.floor))
		if high := s.value > mean; math.Abs(s.value-mean) > band && (high || s.weight == 1) {
			w.doubts = append(w.doubts, s)
			if len(w.doubts) < 3 {
				return profile.Doubted
			}
			for i := range w.doubts {
				w.doubts[i].at, w.doubts[i].weight = s.at, 1
			}
			w.taken, w.doubts = w.doubts, nil
			return profile.Restarted
		}
	}
	for _, d := range w.doubts {
		d.at, d.weight = latest(append(w.taken, w.doubts...)), 1
		w.taken = append(w.taken, d)
	}
	w.taken, w.doubts = append(w.taken, s), nil
	return profile.Taken
}

func TestEvidenceDetectsChange(t *testing.T) {
	seen := map[profile.Verdict]int{}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := &naive{floor: .01}
		var e profile.Evidence
		level, at := .3, start
		for range 120 {
			at = at.Add(time.Duration(r.IntN(3)) * time.Hour)
			switch r.IntN(25) {
			case 0:
				level *= 4
			case 1:
				level /= 4
			}
			s := sample{at, level * (.7 + .6*r.Float64()), []float64{1, 1, .3}[r.IntN(3)]}
			if r.IntN(12) == 0 {
				s.value *= 10
			}
			want := w.take(s)
			var got profile.Verdict
			e, got = e.Take(s.at, s.value, s.weight, profile.EvidenceConfig{Floor: .01})
			seen[got]++
			if got != want {
				t.Fatalf("seed %d: %v is %v, want %v", seed, s.value, got, want)
			}
			at := latest(append(append([]sample(nil), w.taken...), w.doubts...))
			n, mean, variance := moments(w.taken, at, week)
			near(t, "pods", e.Pods, n)
			near(t, "mean", e.Mean, mean)
			near(t, "variance", e.Var, variance)
			if e.Doubt != len(w.doubts) {
				t.Fatalf("%d doubts, want %d", e.Doubt, len(w.doubts))
			}
		}
	}
	for _, v := range []profile.Verdict{profile.Taken, profile.Doubted, profile.Restarted} {
		if seen[v] < 20 {
			t.Errorf("%v only %d times: the test shows little", v, seen[v])
		}
	}
}

// TestEvidenceFloor: what lies within three times the floor of the mean contradicts
// nothing, however many pods agree on how little they take.
func TestEvidenceFloor(t *testing.T) {
	for _, c := range []struct {
		floor, value float64
		want         profile.Verdict
	}{
		{.01, .025, profile.Taken}, {.01, .04, profile.Doubted},
		{0, .015, profile.Doubted},
	} {
		config := profile.EvidenceConfig{Floor: c.floor}
		var e profile.Evidence
		for range 50 {
			e, _ = e.Take(start, .001, 1, config)
		}
		if _, got := e.Take(start, c.value, 1, config); got != c.want {
			t.Errorf("floor %v: %v after fifty of .001 is %v, want %v", c.floor, c.value, got, c.want)
		}
	}
}

// What follows at once ages by a short series: as exact as the exponential.
func TestEvidenceAgesExactly(t *testing.T) {
	for _, seconds := range []int{1, 60, 600, 872, 873, 3600} {
		var e profile.Evidence
		at := start.Add(time.Duration(seconds) * time.Second)
		e, _ = e.Take(start, 1, 1, profile.EvidenceConfig{})
		e, _ = e.Take(at, 1, 1, profile.EvidenceConfig{})
		want := math.Pow(.5, float64(seconds)/week.Seconds())
		if got := e.Pods - 1; math.Abs(got-want) > 4e-16 {
			t.Errorf("after %d s %v, off by %v", seconds, got, got-want)
		}
	}
	if err := (profile.EvidenceConfig{HalfLife: time.Second}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestEvidenceRefuses(t *testing.T) {
	var e profile.Evidence
	e, _ = e.Take(start, 1, 1, profile.EvidenceConfig{})
	for _, s := range []sample{
		{start, math.NaN(), 1}, {start, -1, 1}, {start, math.Inf(1), 1}, {time.Time{}, 1, 1},
		{start, 1, 0}, {start, 1, -1}, {start, 1, 1.5}, {start, 1, math.NaN()},
	} {
		got, verdict := e.Take(s.at, s.value, s.weight, profile.EvidenceConfig{})
		if verdict != profile.Refused || got != e {
			t.Errorf("%v: %v, %+v", s, verdict, got)
		}
	}
	refused(t, "EvidenceConfig.HalfLife", profile.EvidenceConfig{HalfLife: -1}.Validate())
	refused(t, "EvidenceConfig.Floor", profile.EvidenceConfig{Floor: math.NaN()}.Validate())
	if err := (profile.EvidenceConfig{}).Validate(); err != nil {
		t.Error(err)
	}
}

// Two services see the same pods in parts; what one doubts is not lost.
func TestEvidenceMergeKeepsDoubts(t *testing.T) {
	c := profile.EvidenceConfig{}
	var a, b profile.Evidence
	a, _ = a.Take(start, 1, 1, c)
	a, verdict := a.Take(start.Add(time.Minute), 9, 1, c)
	if verdict != profile.Doubted {
		t.Fatalf("9 after 1 is %v", verdict)
	}
	b, _ = b.Take(start.Add(2*time.Minute), 1, 1, c)
	for _, m := range []profile.Evidence{a.Merge(b, c), b.Merge(a, c)} {
		compareEvidence(t, m, []sample{
			{start.Add(time.Minute), 9, 1}, {start.Add(2 * time.Minute), 1, 1},
			// Evidence ages to its doubt's time without it.
			{start, 1, 1},
		}, week)
	}
}

func TestBlend(t *testing.T) {
	own := func(values ...float64) (e profile.Evidence) {
		for _, v := range values {
			e, _ = e.Take(start, v, 1, profile.EvidenceConfig{Steady: true})
		}
		return e
	}
	for _, c := range []struct {
		name  string
		own   profile.Evidence
		prior profile.Share
		k     float64
		want  profile.Share
	}{
		{"nothing", own(), profile.Share{}, 0, profile.Share{}},
		{"one pod", own(2), profile.Share{}, 0, profile.Share{Amount: 2, Confidence: .5}},
		{"nine pods", own(2, 2, 2, 2, 2, 2, 2, 2, 2), profile.Share{}, 1, profile.Share{Amount: 2, Confidence: .9}},
		{"K 4", own(2), profile.Share{}, 4, profile.Share{Amount: 2, Confidence: .2}},
		{"prior alone", own(), profile.Share{Amount: 3, SD: 1, Confidence: .5}, 1, profile.Share{Amount: 3, SD: 1, Confidence: .5}},
		// Two pods and half a pod of the prior: (4 + 1.5)/2.5, (2 + .5)/3; the
		// variance is that of 1, 3 and half a 3.
		{"both", own(1, 3), profile.Share{Amount: 3, Confidence: .5}, 1,
			profile.Share{Amount: 2.2, SD: math.Sqrt((1.44 + .64 + .5*.64) / 2.5), Confidence: 2.5 / 3}},
		{"no prior", own(2), profile.Share{Amount: math.NaN(), Confidence: 1}, math.NaN(), profile.Share{Amount: 2, Confidence: .5}},
	} {
		got := profile.Blend(c.own, c.prior, c.k)
		near(t, c.name+": amount", got.Amount, c.want.Amount)
		near(t, c.name+": SD", got.SD, c.want.SD)
		near(t, c.name+": confidence", got.Confidence, c.want.Confidence)
	}
}

func TestPublished(t *testing.T) {
	for _, v := range []float64{0, 1e-3, .011, .5, 1, 1.0001, 3, 4096, 1e9, 1 << 50} {
		d := profile.Demand{CPU: profile.Share{Amount: v, SD: v, Confidence: .5}, Memory: profile.Share{Amount: 1, Confidence: 1. / 48}}
		p := d.Published()
		if got := p.CPU.Amount; got < v*(1-1e-9) || got > v*1.0906 {
			t.Errorf("%v is published as %v", v, got)
		}
		if p.CPU.SD != p.CPU.Amount || p.CPU.Confidence != .5 || p.Memory != (profile.Share{Amount: 1}) {
			t.Errorf("%v is published as %+v", d, p)
		}
		if d := cmp.Diff(p, p.Published()); d != "" {
			t.Errorf("published twice:\n%s", d)
		}
	}
	// 31 pods are sure, 30 not yet.
	for pods, want := range map[float64]float64{30: 1, 31: 1, 29: 15. / 16} {
		share := profile.Blend(profile.Evidence{Pods: pods, Mean: 1}, profile.Share{}, 1)
		got := profile.Demand{CPU: share}.Published().CPU.Confidence
		if pods != 30 && got != want {
			t.Errorf("%v pods: confidence %v, want %v", pods, got, want)
		}
	}
}

func TestDemandValidate(t *testing.T) {
	refused(t, "CPU.Amount", profile.Demand{CPU: profile.Share{Amount: -1}}.Validate())
	refused(t, "Memory.SD", profile.Demand{Memory: profile.Share{SD: math.NaN()}}.Validate())
	refused(t, "Memory.Confidence", profile.Demand{Memory: profile.Share{Confidence: 1.1}}.Validate())
	if err := (profile.Demand{}).Validate(); err != nil {
		t.Error(err)
	}
}

func FuzzEvidence(f *testing.F) {
	f.Add(int64(0), 1., 1., int64(3600), 9., .5, int64(7200), 9., 1.)
	f.Fuzz(func(t *testing.T, t1 int64, x1, w1 float64, t2 int64, x2, w2 float64, t3 int64, x3, w3 float64) {
		c := profile.EvidenceConfig{Floor: .01}
		var e profile.Evidence
		for _, s := range []sample{{time.Unix(t1, 0), x1, w1}, {time.Unix(t2, 0), x2, w2}, {time.Unix(t3, 0), x3, w3}} {
			before := e
			next, verdict := e.Take(s.at, s.value, s.weight, c)
			if verdict == profile.Refused && next != before {
				t.Fatalf("refused, and changed: %+v", next)
			}
			e = next.Merge(before, c)
			if math.IsNaN(e.Mean) || math.IsNaN(e.Var) || e.Pods < 0 || e.Doubt < 0 || e.Doubt > 2 {
				t.Fatalf("%+v", e)
			}
			e = next
		}
	})
}
