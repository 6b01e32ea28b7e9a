package workload

import "slices"

// Half is one of the two halves of a recording's time: what has been tuned on
// the first is reported on the second.
type Half int

// The halves; of an odd number of rows the first has one more.
const (
	First Half = iota
	Second
)

// of returns that half of a recording that is length rows long; rows may have
// fewer, or more that do not count.
func (h Half) of(rows []float64, length int) []float64 {
	middle := min((length+1)/2, len(rows))
	if h == Second {
		return rows[middle:min(length, len(rows))]
	}
	return rows[:middle]
}

// Half returns that half of the series, which is not copied.
func (u Utilisation) Half(h Half) Utilisation {
	u.share = h.of(u.share, len(u.share))
	return u
}

// HalfOf returns the functions with that half of the minutes up to the last in
// which any of them was invoked: traces are padded to whole days.
func HalfOf(functions []Function, h Half) []Function {
	minutes := 0
	for _, f := range functions {
		for i, n := range f.invocations {
			if n > 0 {
				minutes = max(minutes, i+1)
			}
		}
	}
	all := slices.Clone(functions)
	for i := range all {
		all[i].invocations = h.of(all[i].invocations, minutes)
	}
	return all
}
