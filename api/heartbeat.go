package api

import (
	"fmt"
	"time"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// Heartbeat stands for a full report that still holds, in some 20 bytes. It has a
// meaning on a stream only: the report is the last full one that the stream carried.
// It is a plain value.
type Heartbeat struct {
	// Sequence numbers the node's newest report, which the heartbeat stands for.
	Sequence uint64
	// Unchanged is the sequence number of the report that still holds, at least 1.
	Unchanged uint64
	// SampleAge is how old the newest report's sample was at the sending.
	SampleAge time.Duration
}

// IsHeartbeat reports whether the message is a heartbeat, not a full report.
func IsHeartbeat(m *spaziov1.Report) bool { return m.GetUnchanged() != 0 }

// FromHeartbeat converts a heartbeat for the wire.
func FromHeartbeat(h Heartbeat) *spaziov1.Report {
	return &spaziov1.Report{Sequence: h.Sequence, Unchanged: h.Unchanged, SampleAgeNanos: h.SampleAge.Nanoseconds()}
}

// ToHeartbeat converts and checks a heartbeat from the wire. A message that names
// a node is a full report, and is refused.
// Errors are *field.Error.
func ToHeartbeat(m *spaziov1.Report) (Heartbeat, error) {
	switch {
	case !IsHeartbeat(m):
		return Heartbeat{}, refuse("unchanged", m.GetUnchanged(), ErrMissing)
	case m.GetNode() != "":
		return Heartbeat{}, refuse("node", m.GetNode(), fmt.Errorf("%w: a heartbeat names none", ErrLength))
	case m.GetSequence() < m.GetUnchanged():
		return Heartbeat{}, refuse("sequence", m.GetSequence(), fmt.Errorf("%w: before that of the report, %d", ErrRange, m.GetUnchanged()))
	case m.GetSampleAgeNanos() < 0:
		return Heartbeat{}, refuse("sample_age_nanos", m.GetSampleAgeNanos(), ErrRange)
	}
	return Heartbeat{Sequence: m.GetSequence(), Unchanged: m.GetUnchanged(), SampleAge: time.Duration(m.GetSampleAgeNanos())}, nil
}
