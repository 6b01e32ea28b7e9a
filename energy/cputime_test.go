package energy_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

// TestGrownTime: a sum of time grows at most by the time of that many cores, read a little late,
// and never falls.
func TestGrownTime(t *testing.T) {
	const second = time.Second
	for name, c := range map[string]struct {
		last, now, span time.Duration
		cores           float64
		grown           time.Duration
		err             error
	}{
		"still":                  {second, second, second, 1, 0, nil},
		"all cores":              {second, 5 * second, second, 4, 4 * second, nil},
		"read as late as may be": {0, second + energy.Lateness, second, 1, second + energy.Lateness, nil},
		"leapt":                  {0, second + energy.Lateness + time.Millisecond, second, 1, 0, energy.ErrImplausible},
		"backwards":              {second, second - 1, second, 1, 0, energy.ErrBackwards},
		"no cores":               {0, 1, second, 0, 0, energy.ErrImplausible},
		"cores that are none":    {0, 1, second, math.NaN(), 0, energy.ErrImplausible},
		"since ever":             {0, second, math.MaxInt64, 1, second, nil},
	} {
		grown, err := energy.GrownTime(c.last, c.now, c.span, c.cores)
		if grown != c.grown || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, grown, err)
		}
	}
}
