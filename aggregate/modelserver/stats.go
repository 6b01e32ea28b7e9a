package modelserver

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/svd"
)

// Stats is what a Server has done so far, and where it stands.
type Stats struct {
	// Pushes were accepted; Superseded of them met another push of the same
	// node in the mailbox, and Stale ones were no newer than what was merged.
	Pushes, Superseded, Stale uint64
	// Refused pushes were malformed, Foreign ones of another node than the
	// caller's, Overflowed ones met a full mailbox, and Dropped ones were accepted
	// and then refused by the aggregate, Mixed ones of them because centred and other
	// models do not merge.
	Refused, Foreign, Overflowed, Dropped, Mixed uint64
	// Taken states of nodes came from other replicas and were news, Known ones
	// were not, Unfit ones the aggregate had no room for or could not merge.
	Taken, Known, Unfit uint64
	// Version, Nodes, Groups (of schema and dimension) and At describe what was
	// published last.
	Version       uint64
	Nodes, Groups int
	At            time.Time
}

type counters struct {
	pushes, superseded, stale atomic.Uint64
	foreign                   atomic.Uint64
	overflowed, dropped       atomic.Uint64
	mixed                     atomic.Uint64
	refused                   [len(causes)]atomic.Uint64
	taken, known, unfit       atomic.Uint64
}

// causes are why a push may be refused, by the names that metrics use. The last
// stands for any other.
var causes = [...]struct {
	name string
	is   []error
}{
	{"missing", []error{api.ErrMissing}},
	{"range", []error{api.ErrRange, svd.ErrRange}},
	{"length", []error{api.ErrLength, svd.ErrLength}},
	{"text", []error{api.ErrText}},
	{"not_finite", []error{svd.ErrNotFinite}},
	{"order", []error{svd.ErrOrder}},
	{"orthonormal", []error{svd.ErrOrthonormal}},
	{"other", nil},
}

func causeOf(err error) int {
	for i, c := range causes {
		for _, is := range c.is {
			if errors.Is(err, is) {
				return i
			}
		}
	}
	return len(causes) - 1
}

// Refusals counts the refused pushes by cause: "missing", "range", "length",
// "text", "not_finite", "order", "orthonormal" and "other".
func (s *Server) Refusals() map[string]uint64 {
	counts := make(map[string]uint64, len(causes))
	for i, c := range causes {
		counts[c.name] = s.counts.refused[i].Load()
	}
	return counts
}

// Stats returns the counts; they are read one after the other.
func (s *Server) Stats() Stats {
	p := s.published.Load()
	var refused uint64
	for i := range s.counts.refused {
		refused += s.counts.refused[i].Load()
	}
	return Stats{
		Pushes:     s.counts.pushes.Load(),
		Superseded: s.counts.superseded.Load(),
		Stale:      s.counts.stale.Load(),
		Refused:    refused,
		Foreign:    s.counts.foreign.Load(),
		Overflowed: s.counts.overflowed.Load(),
		Dropped:    s.counts.dropped.Load(),
		Mixed:      s.counts.mixed.Load(),
		Taken:      s.counts.taken.Load(),
		Known:      s.counts.known.Load(),
		Unfit:      s.counts.unfit.Load(),
		Version:    p.version,
		Nodes:      p.nodes,
		Groups:     len(p.globals),
		At:         p.at,
	}
}
