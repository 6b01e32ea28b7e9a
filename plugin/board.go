package plugin

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

// square is the part of a node's view that every cycle reads of every node.
// The squares of all nodes lie side by side, for to follow a pointer to each
// view takes ten times as long.
//
// A cycle may see a change's new decision with the old validity or, if the
// change came while it read, the other way round. Both were true of the node at
// the time.
type square struct {
	// until is the end of the report's validity since the Hub's start; without a
	// report it is −1 less the end of the wait for one.
	until atomic.Int64
	// decision holds the free pods as the bits of a float32 in the upper half,
	// the refusals' id from bit 8 and the reason, for as long as the report is
	// valid, below.
	decision atomic.Uint64
	// k is the bits of a float64.
	k atomic.Uint64
}

// put writes v. One writer at a time.
func (s *square) put(v *view) {
	until := int64(v.freshUntil)
	if v.report == nil {
		until = -1 - int64(v.graceUntil)
	}
	s.k.Store(math.Float64bits(v.signal.K))
	s.decision.Store(uint64(math.Float32bits(float32(v.free)))<<32 | uint64(v.refusals.id)<<8 | uint64(v.reason))
	s.until.Store(until)
}

// verdict is the reason for which a cycle refuses a node, or that it admits it,
// with the id of the refusals that put it into words.
type verdict uint16

func (d verdict) reason() reserve.Reason { return reserve.Reason(d & 0xff) }
func (d verdict) id() int                { return int(d >> 8) }

// judge reads a node: what a cycle at now decides for it and its free pods, NaN
// if it is not ranked by them.
func (r *rules) judge(s *square, now time.Duration) (verdict, float32) {
	until, decision := s.until.Load(), s.decision.Load()
	free := math.Float32frombits(uint32(decision >> 32))
	d := verdict(decision & 0xffff)
	if until >= int64(now) {
		return d, free
	}
	if reported := until >= 0; !reported || r.policy != reserve.Allow {
		free = float32(math.NaN())
	}
	waits := until < 0 && int64(now) < -1-until
	return d&^0xff | verdict(r.unsure(waits)), free
}
