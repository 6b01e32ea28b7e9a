package thesis

import (
	"math"

	"github.com/spazio-scheduler/spazio/kalman"
)

// algebra is what distinguishes one filter from the others. Of a State, Level is C
// and LevelVar P_C; MeanPods stays 0.
type algebra interface {
	// innovation returns ν, its variance S and the part of S that the cost makes.
	innovation(s *kalman.State, z, n, r float64) (nu, variance, cost float64)
	// update is the correction by innovation nu of the given variance; no cost is
	// below floor.
	update(s *kalman.State, z, n, nu, variance, r, floor float64)
}

// correctCost moves the cost within its bounds.
func correctCost(s *kalman.State, by, shrink, floor float64) {
	s.Cost = max(s.Cost+by, floor)
	s.CostVar *= max(shrink, 0)
}

// naive is two scalar filters that each take the whole innovation.
type naive struct{}

func (naive) innovation(s *kalman.State, z, n, r float64) (nu, variance, cost float64) {
	return z + s.Cost*n - s.Level, s.LevelVar + r, 0
}

func (naive) update(s *kalman.State, z, n, nu, variance, r, floor float64) {
	level := s.LevelVar / variance
	s.Level = max(s.Level+level*nu, 0)
	s.LevelVar *= 1 - level
	gain := s.CostVar * n / (n*n*s.CostVar + r)
	correctCost(s, gain*(s.Level-z-n*s.Cost), 1-gain*n, floor)
}

// delta learns the cost from Δz = −c·Δn alone.
type delta struct{}

func (delta) innovation(s *kalman.State, z, n, r float64) (nu, variance, cost float64) {
	x := n - s.LastPods
	cost = x * x * s.CostVar
	return z - s.LastSignal + s.Cost*x, cost + 2*r, cost
}

func (delta) update(s *kalman.State, z, n, nu, variance, r, floor float64) {
	x := n - s.LastPods
	gain := -x * s.CostVar / variance
	correctCost(s, gain*nu, 1+gain*x, floor)
	level := s.LevelVar / (s.LevelVar + r)
	s.Level = max(s.Level+level*(z+s.Cost*n-s.Level), 0)
	s.LevelVar *= 1 - level
}

// joint is the two-dimensional filter with H = (1, −n).
type joint struct{}

func (joint) innovation(s *kalman.State, z, n, r float64) (nu, variance, cost float64) {
	if s.CostVar > 0 { // about the pod count at which it is uncorrelated
		x := n - s.Cov/s.CostVar
		cost = x * x * s.CostVar
	}
	return z + s.Cost*n - s.Level, max(s.LevelVar+n*n*s.CostVar-2*n*s.Cov, cost) + r, cost
}

func (joint) update(s *kalman.State, _, n, nu, variance, _, floor float64) {
	ph0, ph1 := s.LevelVar-n*s.Cov, s.Cov-n*s.CostVar // P·Hᵀ
	level, cost := ph0/variance, ph1/variance
	s.Level = max(s.Level+level*nu, 0)
	s.Cost = max(s.Cost+cost*nu, floor)
	s.LevelVar = max(s.LevelVar-level*ph0, 0)
	s.CostVar = max(s.CostVar-cost*ph1, 0)
	s.Cov -= level * ph1
	// Rounding and the caps of the variances may leave more than they allow.
	limit := math.Sqrt(s.CostVar * s.LevelVar)
	s.Cov = max(-limit, min(limit, s.Cov))
}
