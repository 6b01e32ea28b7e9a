package plugin

import (
	"math"
	"sync/atomic"

	"github.com/spazio-scheduler/spazio/reserve"
)

// square is the part of a node's view that every cycle reads of every node.
// The squares of all nodes lie side by side, for to follow a pointer to each
// view, somewhere in memory, takes longer.
//
// A cycle may see a change's new decision with the old validity or, if the
// change came while it read, the other way round. Both were true of the node at
// the time. Of a brief it sees all of one or nothing.
//
// It is as large as a line of the processor's cache.
type square struct {
	// validity is a reserve.Validity.
	validity atomic.Int64
	// decision holds the free pods as the bits of a float32 in the upper half, the
	// number of the brief from bit 22, its flags from bit 16, the refusals' id from bit
	// 8, and the verdict below: Unseen from bit 4, Reported.
	decision atomic.Uint64
	// brief holds a brief's numbers in pairs; nobody reads it while its own number is
	// odd.
	brief [reserve.BriefNumbers / 2]atomic.Uint64
}

const (
	briefFlags  = 16
	briefNumber = 22
	briefMask   = 1<<10 - 1
)

// put writes v; one writer at a time.
func (s *square) put(v *view) {
	number := s.decision.Load() >> briefNumber & briefMask
	if v.briefed {
		s.decision.Or(1 << briefNumber) // it was even
		for i := range s.brief {
			low, high := v.brief.Numbers[2*i], v.brief.Numbers[2*i+1]
			s.brief[i].Store(uint64(math.Float32bits(high))<<32 | uint64(math.Float32bits(low)))
		}
		number = (number + 2) & briefMask
	}
	decision := uint64(math.Float32bits(float32(v.free)))<<32 | number<<briefNumber |
		uint64(v.refusals.id)<<8 | uint64(v.verdict.Unseen)<<4 | uint64(v.verdict.Reported)
	if v.briefed {
		decision |= uint64(v.brief.Flags) << briefFlags
	}
	s.decision.Store(decision)
	s.validity.Store(int64(v.validity))
}

// read returns the brief, unless it is being written, and the decision beside it.
func (s *square) read(b *reserve.Brief) (decision uint64, ok bool) {
	decision = s.decision.Load()
	if decision>>briefNumber&1 != 0 {
		return decision, false
	}
	b.Flags = reserve.BriefFlags(decision >> briefFlags & (1<<(briefNumber-briefFlags) - 1))
	b.Typical = freeIn(decision)
	n := &b.Numbers // written out: it is read thousands of times a cycle
	n[0], n[1] = split(s.brief[0].Load())
	n[2], n[3] = split(s.brief[1].Load())
	n[4], n[5] = split(s.brief[2].Load())
	n[6], n[7] = split(s.brief[3].Load())
	n[8], n[9] = split(s.brief[4].Load())
	n[10], n[11] = split(s.brief[5].Load())
	return decision, (decision^s.decision.Load())>>briefNumber&briefMask == 0
}

// split is a pair of numbers.
func split(pair uint64) (low, high float32) {
	return math.Float32frombits(uint32(pair)), math.Float32frombits(uint32(pair >> 32))
}

// verdict is the reason for which a cycle refuses a node, or that it admits it,
// with the id of the refusals that put it into words.
type verdict uint16

func (d verdict) reason() reserve.Reason { return reserve.Reason(d & 0xff) }
func (d verdict) id() int                { return int(d >> 8) }

// freeIn is the free pods of a decision.
func freeIn(decision uint64) float32 { return math.Float32frombits(uint32(decision >> 32)) }

// judge reads a node: what a cycle at a moment decides for it and its free pods,
// NaN if it is not ranked by them.
func (r *rules) judge(s *square, at reserve.Moment) (verdict, float32) {
	validity, decision := reserve.Validity(s.validity.Load()), s.decision.Load()
	free := freeIn(decision)
	d := verdict(decision & 0xff00) // the id alone
	said := reserve.Verdict{Reported: reserve.Reason(decision & 0xf), Unseen: reserve.Reason(decision >> 4 & 0xf)}
	if validity.Fresh(at.Now) {
		return d | verdict(said.Reported), free
	}
	if !r.freshness.Ranked(validity, at.Now) {
		free = float32(math.NaN())
	}
	return d | verdict(r.freshness.Admit(validity, at, said)), free
}
