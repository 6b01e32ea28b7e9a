package node_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// sampled returns the readings of 20 s at 10 Hz beside pods that never end.
func sampled(t *testing.T, p node.Params, pods int, cores float64) []node.Reading {
	t.Helper()
	m := newModel(t, p)
	for i := range pods {
		bind(t, m, node.Pod{ID: node.PodID(i), Work: 1e6, Cores: cores})
	}
	var readings []node.Reading
	for i := range 250 {
		m.AdvanceTo(nil, 5+float64(i)/10)
		if r, ok := m.Read(); ok && i >= 50 {
			readings = append(readings, r)
		}
	}
	return readings
}

func mean(readings []node.Reading, of func(node.Reading) float64) float64 {
	sum := 0.
	for _, r := range readings {
		sum += of(r)
	}
	return sum / float64(len(readings))
}

// On a node of any size, with steal or without, the CPU channel grows with the pods and has its
// nominal value, a half with a thread a core and 1 with two.
func TestChannelCountsThreads(t *testing.T) {
	for _, cores := range []int{2, 4, 16, 64} {
		for _, steal := range []float64{0, .02, .05, .2} {
			t.Run(fmt.Sprintf("cores=%d/steal=%g", cores, steal), func(t *testing.T) {
				last := 0.
				for pods := 0; pods <= 3*cores; pods += max(1, cores/4) {
					readings := sampled(t, node.Params{Cores: cores, Seed: uint64(pods), Steal: steal}, pods, 1)
					got, want := mean(readings, node.Reading.CPU), min(1, float64(pods)/float64(2*cores))
					if math.Abs(got-want) > .05 {
						t.Errorf("%d pods: %.3f, want %.3f", pods, got, want)
					}
					if got < last-.005 {
						t.Errorf("%d pods: %.3f, less than %.3f before", pods, got, last)
					}
					last = got
				}
			})
		}
	}
}

// Pods that want parts of a core are seen as many or as few; that is no waiting, within the
// precision of the mean of five readings on a small node.
func TestChannelOfPartsOfACore(t *testing.T) {
	for _, test := range []struct {
		cores, pods int
		part        float64
	}{{2, 2, .5}, {2, 6, .3}, {4, 10, .2}, {4, 20, .3}, {16, 40, .3}, {16, 100, .25}, {64, 100, .4}} {
		readings := sampled(t, node.Params{Cores: test.cores, Seed: 1}, test.pods, test.part)
		got, want := mean(readings, node.Reading.CPU), test.part*float64(test.pods)/float64(2*test.cores)
		if math.Abs(got-want) > .05+.02*2/float64(test.cores) {
			t.Errorf("%d pods of %g on %d cores: %.3f, want %.3f", test.pods, test.part, test.cores, got, want)
		}
	}
}

// With steal a thread always holds its core and gets less of it.
func TestSteal(t *testing.T) {
	p := quiet(4)
	p.Steal = .2
	m := newModel(t, p)
	bind(t, m, node.Pod{ID: 1, Work: 8})
	bind(t, m, node.Pod{ID: 2, Work: 4, Cores: .4})
	m.AdvanceTo(nil, 1)
	m.Read()
	m.AdvanceTo(nil, 5)
	if r, _ := m.Read(); math.Abs(r.Utilisation-1.5/4) > 1e-3 {
		t.Errorf("utilisation %.4f, want one core and a half of 4", r.Utilisation)
	}
	if totals := m.Totals(); math.Abs(totals.Busy-5*1.2) > 1e-3 || math.Abs(totals.Stolen-5*.3) > 1e-3 {
		t.Errorf("%+v, want 1.2 of 1.5 cores received", totals)
	}
	for _, e := range m.AdvanceTo(nil, 100) {
		if e.Phase == node.Succeeded && math.Abs(e.At-10) > 1e-3 {
			t.Errorf("pod %d ends at %.3f, want 10", e.Pod, e.At)
		}
	}
}

// As on a kernel with pods in a kubelet's groups, pressure on two cores reads a half or one however
// many threads wait, for seconds at a time, and does not grow with them; a balanced kernel's is
// full with two a core.
func TestPressureOfUnbalancedPods(t *testing.T) {
	pressure := func(r node.Reading) float64 { return r.Pressure }
	for _, pods := range []int{3, 6, 12, 20} {
		readings := sampled(t, node.Params{Cores: 2, Seed: uint64(pods), Noise: 1e-12, Background: 1e-12}, pods, 1)
		half, full := 0, 0
		for _, r := range readings {
			switch {
			case math.Abs(r.Pressure-.5) < .01:
				half++
			case r.Pressure > .99:
				full++
			}
		}
		if half+full < len(readings)*9/10 || half < len(readings)/10 || (full > 0) != (pods > 3) {
			t.Errorf("%d pods: of %d samples %d are a half and %d are one", pods, len(readings), half, full)
		}
		balanced := sampled(t, node.Params{Cores: 2, Balanced: true, Noise: 1e-12, Background: 1e-12}, pods, 1)
		if got, want := mean(balanced, pressure), min(float64(pods)/2-1, 1); math.Abs(got-want) > .02 {
			t.Errorf("%d pods, balanced: pressure %.3f, want %.3f", pods, got, want)
		}
	}
}
