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

// moments returns those of the values with their weights at a time, in two passes.
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
		given := []time.Duration{0, time.Hour}[seed%2]
		halfLife := []time.Duration{week, time.Hour}[seed%2]
		var ordered, mixed profile.Evidence
		var parts [4]profile.Evidence
		for _, s := range s {
			ordered, _ = ordered.Add(s.at, s.value, s.weight, given)
		}
		for _, i := range r.Perm(len(s)) {
			s := s[i]
			mixed, _ = mixed.Add(s.at, s.value, s.weight, given)
			k := r.IntN(4)
			parts[k], _ = parts[k].Add(s.at, s.value, s.weight, given)
		}
		var merged profile.Evidence
		for _, i := range r.Perm(4) {
			merged = merged.Merge(parts[i], halfLife)
		}
		for _, e := range []profile.Evidence{ordered, mixed, merged} {
			compareEvidence(t, e, s, halfLife)
		}
	}
}

// Short steps age by a series that is as exact as the exponential.
func TestEvidenceAgesExactly(t *testing.T) {
	for _, seconds := range []int{1, 60, 600, 872, 873, 3600} {
		var e profile.Evidence
		at := start.Add(time.Duration(seconds) * time.Second)
		e, _ = e.Add(start, 1, 1, 0)
		e, _ = e.Add(at, 1, 1, 0)
		want := math.Pow(.5, float64(seconds)/week.Seconds())
		if got := e.Pods - 1; math.Abs(got-want) > 4e-16 {
			t.Errorf("after %d s %v, off by %v", seconds, got, got-want)
		}
	}
}

// An invalid half-life counts as a week, both where values are added and where evidence is merged.
func TestEvidenceWithoutHalfLife(t *testing.T) {
	var first profile.Evidence
	first, _ = first.Add(start, 2, 1, week)
	for _, halfLife := range []time.Duration{0, -time.Hour, time.Second - 1} {
		for name, at := range map[string]time.Time{"at once": start, "a week later": start.Add(week)} {
			var second profile.Evidence
			second, _ = second.Add(at, 4, 1, halfLife)
			// The weight is 1 or, after a week, a half: w + 1 pods with a mean of (2w + 4)/(w + 1).
			n, mean, variance := 2., 3., 1.
			if at != start {
				n, mean, variance = 1.5, 10./3, 8./9 // (0.5·(4/3)² + (2/3)²)/1.5
			}
			added, _ := first.Add(at, 4, 1, halfLife)
			for of, e := range map[string]profile.Evidence{
				"added": added, "merged": first.Merge(second, halfLife), "the other way round": second.Merge(first, halfLife),
			} {
				what := name + " " + of
				near(t, what+": pods", e.Pods, n)
				near(t, what+": mean", e.Mean, mean)
				near(t, what+": variance", e.Var, variance)
				if !e.At.Equal(at) {
					t.Errorf("%s: at %v, want %v", what, e.At, at)
				}
			}
		}
	}
}

func TestEvidenceRefuses(t *testing.T) {
	var e profile.Evidence
	e, _ = e.Add(start, 1, 1, 0)
	for _, s := range []sample{
		{start, math.NaN(), 1}, {start, -1, 1}, {start, math.Inf(1), 1}, {time.Time{}, 1, 1},
		{start, 1, 0}, {start, 1, -1}, {start, 1, 1.5}, {start, 1, math.NaN()},
	} {
		if got, added := e.Add(s.at, s.value, s.weight, 0); added || got != e {
			t.Errorf("%v: %v, %+v", s, added, got)
		}
	}
}

func TestBlend(t *testing.T) {
	own := func(values ...float64) (e profile.Evidence) {
		for _, v := range values {
			e, _ = e.Add(start, v, 1, 0)
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
		// There are two pods and half a pod of the prior: (4 + 1.5)/2.5, (2 + 0.5)/3; the variance
		// is that of 1, 3 and half a 3.
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
	// 31 pods are certain, 30 not yet.
	for pods, want := range map[float64]float64{30: 1, 31: 1, 29: 15. / 16} {
		share := profile.Blend(profile.Evidence{Pods: pods, Mean: 1}, profile.Share{}, 1)
		got := profile.Demand{CPU: share}.Published().CPU.Confidence
		if pods != 30 && got != want {
			t.Errorf("%v pods: confidence %v, want %v", pods, got, want)
		}
	}
}

// TestMidpointIsNearWhatWasPublished: they differ by half a step of an eighth of an octave, up or
// down.
func TestMidpointIsNearWhatWasPublished(t *testing.T) {
	low, high := 0., 0.
	for i := range 1000 {
		amount := .01 * math.Pow(1.01, float64(i))
		of := profile.Demand{CPU: profile.Share{Amount: amount, SD: 1}, Memory: profile.Share{Amount: amount}}
		got := of.Published().Midpoint()
		off := math.Log2(got.CPU.Amount / amount)
		low, high = min(low, off), max(high, off)
		if got.Memory.Amount != got.CPU.Amount || got.CPU.SD != 1 {
			t.Fatalf("%+v of %+v", got, of)
		}
	}
	if low < -1./16-1e-9 || high > 1./16+1e-9 || high-low < .12 {
		t.Errorf("from %v to %v octaves off", low, high)
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
		var e profile.Evidence
		for _, s := range []sample{{time.Unix(t1, 0), x1, w1}, {time.Unix(t2, 0), x2, w2}, {time.Unix(t3, 0), x3, w3}} {
			next, added := e.Add(s.at, s.value, s.weight, 0)
			if !added && next != e {
				t.Fatalf("refused, and changed: %+v", next)
			}
			for _, e := range []profile.Evidence{next, next.Merge(e, week), next.Merge(e, 0)} {
				if math.IsNaN(e.Mean) || math.IsNaN(e.Var) || e.Pods < 0 {
					t.Fatalf("%+v", e)
				}
			}
			e = next
		}
	})
}
