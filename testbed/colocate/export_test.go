package colocate

import "math"

// Exports for tests outside the package.

var (
	ParseCell = parseCell
)

func (c Cell) Merge(d Cell) Cell { return c.merge(d) }
func (c Cell) Validate() error   { return c.validate() }

// SD returns the standard deviation of a run, 0 below two runs.
func (c Cell) SD() float64 {
	if c.Count < 2 {
		return 0
	}
	return math.Sqrt(c.Squares / float64(c.Count-1))
}
