package kalman

// Rescale returns s after the channel has changed its size, by which one unit of
// load takes ratio, the old size over the new one, of the share that it took:
// c' = ratio·c, 1 − z' = ratio·(1 − z). A ratio that is not finite and positive
// is an ErrInvalid.
func (s State) Rescale(ratio float64) (State, error) {
	if !(ratio > 0 && ratio <= 1e9) {
		return s, refuse("ratio", ratio, "must be positive and at most 1e9")
	}
	if !s.Started {
		return s, nil
	}
	squared := ratio * ratio
	s.Level = 1 - ratio*(1-s.Level)
	s.Cost *= ratio
	s.LevelVar *= squared
	s.CostVar *= squared
	s.Cov *= squared
	s.DiffVar *= squared
	s.LastSignal = min(max(1-ratio*(1-s.LastSignal), 0), 1)
	return s, nil
}
