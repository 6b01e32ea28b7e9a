package profile

// Corrected is the recommendation with its amounts times factors, cut to bounds. r should be
// one made without these bounds: Uncapped is made of its Target, which they may have cut.
func (r Recommendation) Corrected(cpu, memory float64, within Bounds) Recommendation {
	times := func(a Amounts) Amounts { return Amounts{cpu * a.CPU, memory * a.Memory} }
	r.Uncapped = times(r.Target)
	r.Target = within.clamp(r.Uncapped)
	r.LowerBound, r.UpperBound = within.clamp(times(r.LowerBound)), within.clamp(times(r.UpperBound))
	return r
}
