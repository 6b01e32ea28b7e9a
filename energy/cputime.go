package energy

import (
	"fmt"
	"math"
	"time"
)

// Lateness is by how much a time that a counter shows may be read after the time it is of.
const Lateness = 100 * time.Millisecond

// GrownTime returns by how much a sum of time of so many cores, or tasks, has grown in a
// span. The error wraps ErrBackwards where it fell, and ErrImplausible where it grew by more
// than they can have had, read up to Lateness late.
func GrownTime(last, now, span time.Duration, cores float64) (time.Duration, error) {
	grown, most := now-last, cores*(min(span, math.MaxInt64-Lateness)+Lateness).Seconds()
	switch {
	case grown < 0:
		return 0, fmt.Errorf("%w: from %v to %v", ErrBackwards, last, now)
	case !(grown.Seconds() <= most):
		return 0, fmt.Errorf("%w: %v of CPU time, where the machine had %.1f s", ErrImplausible, grown, most)
	default:
		return grown, nil
	}
}
