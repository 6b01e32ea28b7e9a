package profile_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

func BenchmarkHistogramAdd(b *testing.B) {
	h := newHistogram(b, 24*time.Hour)
	s := samples(rand.New(rand.NewPCG(1, 1)), 1024)
	addAll(b, h, s)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s := &s[i&1023]
		if err := h.Add(s.at, s.value, s.weight); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkHistogramQuantile(b *testing.B) {
	for name, p := range map[string]float64{"p=.5": .5, "p=.98": .98} {
		b.Run(name, func(b *testing.B) {
			h := newHistogram(b, 24*time.Hour)
			for i := range profile.CPU.Buckets { // a full scale is the worst case
				addAll(b, h, []sample{{start, profile.CPU.Upper(i) * .99, 1}})
			}
			b.ReportAllocs()
			for b.Loop() {
				if h.Quantile(p) == 0 {
					b.Fatal("no quantile")
				}
			}
		})
	}
}

func BenchmarkEvidenceTake(b *testing.B) {
	s := samples(rand.New(rand.NewPCG(1, 1)), 1024)
	var e profile.Evidence
	c := profile.EvidenceConfig{Floor: .01}
	b.ReportAllocs()
	i, at := 0, start
	for b.Loop() {
		at = at.Add(time.Minute)
		e, _ = e.Take(at, s[i&1023].value, 1, c)
		i++
	}
}

func TestNoAllocations(t *testing.T) {
	h := newHistogram(t, 24*time.Hour)
	s := samples(rand.New(rand.NewPCG(1, 1)), 256)
	addAll(t, h, s)
	var e profile.Evidence
	i := 0
	if n := testing.AllocsPerRun(512, func() {
		s := s[i&255]
		if err := h.Add(s.at, s.value, s.weight); err != nil {
			t.Fatal(err)
		}
		if h.Quantile(.98) == 0 {
			t.Fatal("no quantile")
		}
		e, _ = e.Take(s.at, s.value, 1, profile.EvidenceConfig{})
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
