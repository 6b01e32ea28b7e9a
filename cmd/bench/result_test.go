package bench

import (
	"math"
	"testing"
)

// A bar that is missed, or that has no measurement, is an error.
func TestMissed(t *testing.T) {
	for _, test := range []struct {
		row Row
		met bool
	}{
		{Row{Value: 1, Bar: AtMost(2)}, true},
		{Row{Value: 2, Bar: AtMost(2)}, true},
		{Row{Value: 3, Bar: AtMost(2)}, false},
		{Row{Value: 3, Bar: AtLeast(2)}, true},
		{Row{Value: 2, Bar: AtLeast(2)}, true},
		{Row{Value: 1, Bar: AtLeast(2)}, false},
		{Row{Value: 0, Bar: AtMost(0)}, true},
		{Row{Value: 3}, true},
		{Row{Value: math.NaN(), Bar: AtMost(2)}, false},
		{Row{Value: math.NaN(), Bar: AtLeast(2)}, false},
	} {
		r := Result{Rows: []Row{test.row}}
		if err := r.missed(); (err == nil) != test.met {
			t.Errorf("%+v: %v", test.row, err)
		}
	}
}
