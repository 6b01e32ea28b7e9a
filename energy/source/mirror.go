package source

import (
	"strings"

	"github.com/spazio-scheduler/spazio/energy"
)

// twinOf is the same for zones that may show one and the same counter: those of the dies of
// a package, of one name. parent is the name of the zone that contains it.
func twinOf(own, parent string) string {
	top, leaf := own, ""
	if parent != "" {
		top, leaf = parent, "/"+own
	}
	if isPsys(top) {
		return "psys" + leaf
	}
	top, _, _ = strings.Cut(top, "-die-")
	return top + leaf
}

// mirrors reports whether a counter shows what another does. That was read before, and is
// read again after it: what lies between is the same counter, a little later.
func mirrors(other, r *energy.Reading, again func() (uint64, error)) bool {
	if other.Range != r.Range || other.Gauge || r.Gauge {
		return false
	}
	after, err := again()
	return err == nil && distance(other.Counter, r.Counter, r.Range) <= distance(other.Counter, after, r.Range)
}

// distance is how far a counter goes from one value to another.
func distance(from, to, limit uint64) uint64 {
	if to >= from {
		return to - from
	}
	return limit - from + to
}
