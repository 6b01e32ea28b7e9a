package workload

// Half is one of the two halves of a recording's time: what has been tuned on
// the first is reported on the second.
type Half int

// The halves; of an odd number of rows the first has one more.
const (
	First Half = iota
	Second
)

func halve[T any](rows []T, h Half) []T {
	middle := (len(rows) + 1) / 2
	if h == Second {
		return rows[middle:]
	}
	return rows[:middle]
}

// Half returns that half of the series, which is not copied.
func (u Utilisation) Half(h Half) Utilisation {
	u.Share = halve(u.Share, h)
	return u
}

// Half returns the function with that half of its minutes, which are not copied.
func (f Function) Half(h Half) Function {
	f.Invocations = halve(f.Invocations, h)
	return f
}
