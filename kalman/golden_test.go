package kalman_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// goldenConfig returns the Config of a sequence of testdata/golden.txt. gates is 1 to keep them on,
// otherwise 0.
func goldenConfig(prior, noise, level, cost float64, gates int) kalman.Config {
	c := kalman.Config{Prior: prior, Noise: noise, LevelDrift: level, CostDrift: cost}
	if gates == 0 {
		c.Gate, c.Saturation = kalman.NoGate, kalman.NeverSaturated
	}
	return c
}

// TestGolden compares with an implementation in GNU Octave
// (testdata/golden.m) that works on the state (C, c) in matrix form.
func TestGolden(t *testing.T) {
	f, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	sequences, worst, verdicts := 0, 0., map[kalman.Verdict]int{}
	for {
		var (
			id, gates, steps           int
			name                       string
			prior, noise, level, drift float64
		)
		if _, err := fmt.Fscan(r, new(string), &id, &name, &prior, &noise, &level, &drift, &gates, &steps); err != nil {
			break
		}
		sequences++
		c := goldenConfig(prior, noise, level, drift, gates)
		var s kalman.State
		for i := range steps {
			var z, n, capacity, cost, costVar float64
			if _, err := fmt.Fscan(r, &z, &n, &capacity, &cost, &costVar); err != nil {
				t.Fatal(err)
			}
			var v kalman.Verdict
			if s, v, err = kalman.Step(s, z, n, c); err != nil {
				t.Fatal(err)
			}
			verdicts[v]++
			got := []float64{s.Level + s.Cost*s.MeanPods, s.Cost, s.CostVar}
			scale := []float64{capacity, cost, prior * prior / 4} // of C, c and, at the start, P_c
			for j, want := range []float64{capacity, cost, costVar} {
				diff := math.Abs(got[j]-want) / scale[j]
				worst = max(worst, diff)
				if !(diff <= 1e-12) {
					t.Fatalf("sequence %d (%s), step %d: C, c, P_c = %v, Octave has %v %v %v", id, name, i, got, capacity, cost, costVar)
				}
			}
		}
	}
	if sequences < 8 {
		t.Errorf("got %d sequences, want at least 8", sequences)
	}
	if verdicts[kalman.Censored] == 0 || verdicts[kalman.Outlier] == 0 {
		t.Errorf("the gates were not covered: %v", verdicts)
	}
	t.Logf("%d sequences, largest relative difference %.1e, verdicts %v", sequences, worst, verdicts)
}
