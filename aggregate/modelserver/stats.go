package modelserver

import (
	"sync/atomic"
	"time"
)

// Stats is what a Server has done so far, and where it stands.
type Stats struct {
	// Pushes were accepted; Superseded of them met another push of the same
	// node in the mailbox, and Stale ones were no newer than what was merged.
	Pushes, Superseded, Stale uint64
	// Refused pushes were malformed, Overflowed ones met a full mailbox, and
	// Dropped ones were accepted and then refused by the aggregate.
	Refused, Overflowed, Dropped uint64
	// Version, Nodes, Groups (of schema and dimension) and At describe what was
	// published last.
	Version       uint64
	Nodes, Groups int
	At            time.Time
}

type counters struct {
	pushes, superseded, stale    atomic.Uint64
	refused, overflowed, dropped atomic.Uint64
}

// Stats returns the counts; they are read one after the other.
func (s *Server) Stats() Stats {
	p := s.published.Load()
	return Stats{
		Pushes:     s.counts.pushes.Load(),
		Superseded: s.counts.superseded.Load(),
		Stale:      s.counts.stale.Load(),
		Refused:    s.counts.refused.Load(),
		Overflowed: s.counts.overflowed.Load(),
		Dropped:    s.counts.dropped.Load(),
		Version:    p.version,
		Nodes:      p.nodes,
		Groups:     len(p.globals),
		At:         p.at,
	}
}
