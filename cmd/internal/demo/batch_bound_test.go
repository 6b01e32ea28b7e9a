package demo

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// 300 pods of three core-seconds on 40 cores take seven full rounds of 40 and one of 20: (40 · (3 + 6 +
// … + 21) + 20 · 24) / 300 s.
func TestLeastSojourn(t *testing.T) {
	tasks := make([]batchTask, 300)
	for i := range tasks {
		tasks[i].Work = 3 * time.Second
	}
	if got, want := leastSojourn(tasks, 40), (40*84.+20*24)/300; math.Abs(got-want) > 1e-9 {
		t.Errorf("%g s, want %g", got, want)
	}
	if got := leastSojourn(tasks, 1000); got != 3 {
		t.Errorf("with a core each: got %g s, want 3", got)
	}
	for _, nothing := range []float64{leastSojourn(nil, 4), leastSojourn(tasks, 0)} {
		if nothing != 0 {
			t.Errorf("without pods: got %g s", nothing)
		}
	}
}

// No order of different works is faster.
func TestLeastSojournBoundsEveryOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		cores, tasks := 1+rng.IntN(8), make([]batchTask, 1+rng.IntN(40))
		for i := range tasks {
			tasks[i].Work = time.Duration(1+rng.IntN(5000)) * time.Millisecond
		}
		least := leastSojourn(tasks, cores)
		free, sum := make([]float64, cores), 0.
		for _, task := range tasks { // first come, first served
			first := 0
			for i := range free {
				if free[i] < free[first] {
					first = i
				}
			}
			free[first] += task.Work.Seconds()
			sum += free[first]
		}
		if mean := sum / float64(len(tasks)); mean < least-1e-9 {
			t.Fatalf("%d works on %d cores: got %g s, less than the bound %g", len(tasks), cores, mean, least)
		}
	}
}
