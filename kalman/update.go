package kalman

import "math"

// drift adds what may have changed since the last measurement. The cost drifts
// only while the pods move: at constant n nothing would reduce the uncertainty
// again, and by morning the node would offer nothing.
//
// It returns the part of it that is due to pods that differ: each that came or
// went differs from the mean by sd κ·c, which stays in the level as long as the
// pod does.
func (s *State) drift(n, r float64, t *tuning) (differ float64) {
	differ = t.spreadVar * s.Cost * s.Cost * math.Abs(n-s.LastPods)
	s.LevelVar += t.LevelDrift*r + differ
	if n != s.LastPods {
		s.raiseCostVar(t.CostDrift*r, t)
	}
	return differ
}

// raiseCostVar adds q to P_c, at most up to its prior. A cost that changes leaves
// the capacity alone. Seen from n̄ it moves the level too, and the pod count at
// which level and cost are uncorrelated moves towards zero.
func (s *State) raiseCostVar(q float64, t *tuning) {
	q = max(min(q, t.priorVar-s.CostVar), 0)
	if q == 0 {
		return
	}
	sum := s.CostVar + q
	back := q / sum * s.MeanPods
	s.LevelVar += back * s.MeanPods * s.CostVar
	s.Level += s.Cost * back
	s.MeanPods -= back
	s.CostVar = sum
}

// innovation returns ν, its variance S and the part of S that the cost makes.
func (s *State) innovation(z, n, r float64) (nu, variance, cost float64) {
	x := n - s.MeanPods
	cost = x * x * s.CostVar
	return z - s.Level + s.Cost*x, s.LevelVar + cost + r, cost
}

// update corrects level and cost by innovation nu of the given variance, each by
// its own share. The level and the centre move by one gain, so they are running
// means of z and n over the same measurements, and the line through them is
// uncorrelated with its slope.
func (s *State) update(z, n, nu, variance, r float64, t *tuning) {
	x := n - s.MeanPods
	without := s.LevelVar + r // S without the uncertainty of the cost
	gain, scale := s.LevelVar/without, 1/variance
	s.Cost = max(s.Cost-x*s.CostVar*scale*nu, t.floor)
	s.CostVar *= without * scale
	s.Level += gain * (z - s.Level)
	s.LevelVar = gain * r
	s.MeanPods += gain * x
}
