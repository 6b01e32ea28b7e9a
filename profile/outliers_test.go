package profile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// naive detects a change as documented, with the samples in a list.
type naive struct {
	taken, outliers []sample
	restarts        int
}

// take reports whether a value is an outlier.
func (n *naive) take(s sample) (isOutlier bool) {
	if len(n.taken) > 0 {
		_, mean, variance := moments(n.taken, latest(n.taken), week)
		band := 3 * math.Max(math.Sqrt(variance), math.Max(math.Min(s.value, mean)/4, .01))
		if math.Abs(s.value-mean) > band {
			if n.outliers = append(n.outliers, s); len(n.outliers) == 3 {
				n.taken, n.outliers = n.outliers, nil
				n.restarts++
			}
			return len(n.outliers) > 0
		}
	}
	n.taken, n.outliers = append(append(n.taken, n.outliers...), s), nil
	return false
}

// TestProfileDetectsChange: for pods that come and end one after the other, a profile knows the
// same as a list of all that are kept, whatever it considers an outlier.
func TestProfileDetectsChange(t *testing.T) {
	var taken, refused, restarted int
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		n, p := &naive{}, newProfile(t, profile.Config{Slots: 1})
		level, at := .3, start
		for i := range 120 {
			at = at.Add(time.Duration(r.IntN(3)) * time.Hour)
			switch r.IntN(25) {
			case 0:
				level = math.Min(level*4, 20)
			case 1:
				level /= 4
			}
			s := sample{at, level * (.7 + .6*r.Float64()), 1}
			if r.IntN(12) == 0 {
				s.value *= 10
			}
			if n.take(s) {
				refused++
			} else {
				taken++
			}
			observe(t, p, at, window(fmt.Sprint("pod", i), s.value, 0))
			if p.Restarts() != n.restarts {
				t.Fatalf("seed %d: %d restarts, want %d", seed, p.Restarts(), n.restarts)
			}
			e, _ := p.Evidence()
			compareEvidence(t, e, n.taken, week)
		}
		restarted += n.restarts
	}
	if taken < 20 || refused < 20 || restarted < 20 {
		t.Errorf("%d taken, %d outliers, %d restarts: the test shows little", taken, refused, restarted)
	}
}

// TestOutliersFloor: a value within three times 10 millicores of the mean is no outlier, however
// closely the pods agree on little use.
func TestOutliersFloor(t *testing.T) {
	for value, want := range map[float64]float64{.025: 51, .04: 50} {
		p := newProfile(t, profile.Config{})
		for i := range 50 {
			observe(t, p, start, window(fmt.Sprint("pod", i), .001, 0))
		}
		observe(t, p, start, window("other", value, 0))
		if cpu, _ := p.Evidence(); math.Abs(cpu.Pods-want) > 1e-9 {
			t.Errorf("%v after fifty of .001: %v pods, want %v", value, cpu.Pods, want)
		}
	}
}

// TestContradicted: a profile knows the time of its last contradiction.
func TestContradicted(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for i, cores := range []float64{1, 1, 1, 5, 5, 5, 5} {
		at := start.Add(time.Duration(i) * time.Minute)
		observe(t, p, at, window(fmt.Sprint("pod", i), cores, 0))
		want := start.Add(5 * time.Minute)
		if i < 5 {
			want = time.Time{}
		}
		if got := p.Contradicted(); !got.Equal(want) {
			t.Errorf("after pod %d contradicted at %v, want %v", i, got, want)
		}
	}
}
