package profile

// Corrected is the recommendation with its amounts times factors, within bounds. It is to be
// one that these bounds have not cut yet: a share of what was cut is of nothing.
func (r Recommendation) Corrected(cpu, memory float64, within Bounds) Recommendation {
	times := func(a Amounts) Amounts { return Amounts{cpu * a.CPU, memory * a.Memory} }
	r.Uncapped = times(r.Target)
	r.Target = within.clamp(r.Uncapped)
	r.LowerBound, r.UpperBound = within.clamp(times(r.LowerBound)), within.clamp(times(r.UpperBound))
	return r
}
