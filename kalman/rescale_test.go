package kalman_test

import (
	"errors"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/kalman"
)

// TestRescale: on a channel four times as large every load is a quarter, and the estimator continues as
// one that saw the quarters from the start.
func TestRescale(t *testing.T) {
	s := kalman.State{
		Level: .2, LevelVar: .04, Cost: .4, CostVar: .01, Cov: .008, MeanPods: 2, DiffVar: .16,
		LastSignal: .6, LastPods: 3, Outliers: 1, Started: true,
	}
	got, err := s.Rescale(.25)
	if err != nil {
		t.Fatal(err)
	}
	want := kalman.State{
		Level: .8, LevelVar: .0025, Cost: .1, CostVar: .000625, Cov: .0005, MeanPods: 2, DiffVar: .01,
		LastSignal: .9, LastPods: 3, Outliers: 1, Started: true,
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }
	if !near(got.Level, want.Level) || !near(got.LevelVar, want.LevelVar) || !near(got.Cost, want.Cost) ||
		!near(got.CostVar, want.CostVar) || !near(got.Cov, want.Cov) || !near(got.DiffVar, want.DiffVar) ||
		!near(got.LastSignal, want.LastSignal) || got.MeanPods != 2 || got.LastPods != 3 || got.Outliers != 1 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if smaller, err := s.Rescale(4); err != nil || smaller.LastSignal != 0 {
		t.Errorf("on a quarter of the channel: got %+v, %v", smaller, err)
	}
	if fresh, err := (kalman.State{}).Rescale(2); err != nil || fresh != (kalman.State{}) {
		t.Errorf("nothing seen: got %+v, %v", fresh, err)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if kept, err := s.Rescale(bad); !errors.Is(err, kalman.ErrInvalid) || kept != s {
			t.Errorf("ratio %v: %v", bad, err)
		}
	}
}
