package live

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// unknown is the cell of what is not known, which is last in any order.
const unknown = "-"

// rank is a cell's place in a column.
type rank struct {
	number float64
	text   string
	absent bool
}

// rankOf ranks numbers and durations by their size, and what is no number in a column of
// them, such as "any", above all.
func rankOf(cell string, numbers bool) rank {
	switch {
	case cell == "" || cell == unknown:
		return rank{absent: true}
	case !numbers:
		return rank{text: strings.ToLower(cell)}
	}
	if x, err := strconv.ParseFloat(cell, 64); err == nil {
		return rank{number: x}
	}
	if d, err := time.ParseDuration(cell); err == nil {
		return rank{number: d.Seconds()}
	}
	return rank{number: math.Inf(1), text: cell}
}

// order compares cells of a column: numbers from the largest, text from its first letter,
// and the other way round where that is reversed.
type order struct {
	column            int
	numbers, reversed bool
}

func orderBy(t text.Table, column int, reversed bool) order {
	return order{column, column < len(t.Right) && t.Right[column], reversed}
}

func (o order) rank(row []string) rank {
	if o.column >= len(row) {
		return rank{absent: true}
	}
	return rankOf(row[o.column], o.numbers)
}

func (o order) compare(a, b rank) int {
	switch {
	case a.absent && b.absent:
		return 0
	case a.absent:
		return 1
	case b.absent:
		return -1
	}
	by := cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.text, b.text))
	if o.falling() {
		return -by
	}
	return by
}

// falling reports whether the largest is first.
func (o order) falling() bool { return o.numbers != o.reversed }
