package profile_test

import (
	"fmt"
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

func BenchmarkEvidenceAdd(b *testing.B) {
	s := samples(rand.New(rand.NewPCG(1, 1)), 1024)
	var e profile.Evidence
	b.ReportAllocs()
	i, at := 0, start
	for b.Loop() {
		at = at.Add(time.Minute)
		e, _ = e.Add(at, s[i&1023].value, 1, 0)
		i++
	}
}

// Each window is of one of a workload's live pods, each on its own node.
func BenchmarkObserve(b *testing.B) {
	for _, pods := range []int{1, 15, 300} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			p := newProfile(b, profile.Config{})
			at := start
			i := 0
			step := func() {
				w := profile.Window{
					Pod: fmt.Sprint("pod", i%pods), Node: fmt.Sprint("node", i%pods),
					Usage: profile.Usage{
						Age: at.Sub(start) + time.Hour, Span: time.Minute, CPU: 50 + float64(i%7), Stalled: 3,
						Memory: 1e8 + 1e6*float64(i%11), MemoryPeak: 1.2e8, Pressure: true,
					},
				}
				if err := p.Observe(at, w); err != nil {
					b.Fatal(err)
				}
				if i++; i%pods == 0 {
					at = at.Add(time.Minute)
				}
			}
			for range 2 * pods {
				step()
			}
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
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
		e, _ = e.Add(s.at, s.value, 1, 0)
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
