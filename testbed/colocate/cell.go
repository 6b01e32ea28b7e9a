package colocate

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
)

// Cell is what is known of the run time of one job beside another: Count runs with this
// Mean and the sum of the Squares of their deviations from it, in seconds (Welford's
// moments). The zero value is nothing known.
type Cell struct {
	Count   int
	Mean    float64
	Squares float64
}

// Add returns the cell with one more run. A time that is not finite or negative is a
// *field.Error.
func (c Cell) Add(seconds float64) (Cell, error) {
	if !(seconds >= 0) || math.IsInf(seconds, 0) {
		return c, testbed.Refuse("seconds", seconds, "0 or more and finite")
	}
	return c.merge(Cell{Count: 1, Mean: seconds}), nil
}

// merge returns the cell of the runs of both (Chan, Golub, LeVeque, 1979).
func (c Cell) merge(d Cell) Cell {
	switch {
	case c.Count == 0:
		return d
	case d.Count == 0:
		return c
	}
	n := c.Count + d.Count
	delta, share := d.Mean-c.Mean, float64(d.Count)/float64(n)
	return Cell{
		Count:   n,
		Mean:    c.Mean + delta*share,
		Squares: c.Squares + d.Squares + delta*delta*float64(c.Count)*share,
	}
}

// SD returns the standard deviation of a run, 0 below two runs.
func (c Cell) SD() float64 {
	if c.Count < 2 {
		return 0
	}
	return math.Sqrt(c.Squares / float64(c.Count-1))
}

// validate returns a *field.Error for what no runs can have led to.
func (c Cell) validate() error {
	switch {
	case c.Count < 0 || c.Count > math.MaxInt32:
		return testbed.Refuse("Cell.Count", c.Count, "in 0..2147483647")
	case !(c.Mean >= 0) || math.IsInf(c.Mean, 0):
		return testbed.Refuse("Cell.Mean", c.Mean, "0 or more and finite")
	case !(c.Squares >= 0) || math.IsInf(c.Squares, 0):
		return testbed.Refuse("Cell.Squares", c.Squares, "0 or more and finite")
	case c.Count == 0 && c != Cell{}:
		return testbed.Refuse("Cell.Count", c.Count, "positive beside a mean")
	case c.Count == 1 && c.Squares != 0:
		return testbed.Refuse("Cell.Squares", c.Squares, "0 for one run")
	}
	return nil
}

// stored is a Cell as JSON.
type stored struct {
	Count   int     `json:"count"`
	Mean    float64 `json:"mean"`
	Squares float64 `json:"squares,omitempty"`
}

// MarshalJSON writes {"count": 16, "mean": 24.5, "squares": 3.5}.
func (c Cell) MarshalJSON() ([]byte, error) { return json.Marshal(stored(c)) }

// UnmarshalJSON reads what MarshalJSON writes, and what parseCell does.
func (c *Cell) UnmarshalJSON(data []byte) error {
	var read Cell
	if strings.HasPrefix(string(data), `"`) {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		parsed, err := parseCell(text)
		if err != nil {
			return err
		}
		read = parsed
	} else {
		var s stored
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		read = Cell(s)
	}
	if err := read.validate(); err != nil {
		return err
	}
	*c = read
	return nil
}

// parseCell reads the thesis' form, "24 (16)": the mean in seconds and the count. It
// does not say how the runs spread.
func parseCell(text string) (Cell, error) {
	refused := testbed.Refuse("Cell", text, "MEAN (COUNT)")
	mean, rest, ok := strings.Cut(text, " (")
	count, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		return Cell{}, refused
	}
	m, err := strconv.ParseFloat(mean, 64)
	if err != nil {
		return Cell{}, refused
	}
	n, err := strconv.ParseInt(count, 10, 32)
	if err != nil {
		return Cell{}, refused
	}
	c := Cell{Count: int(n), Mean: m}
	if c.validate() != nil {
		return Cell{}, refused
	}
	return c, nil
}
