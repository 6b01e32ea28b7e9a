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
// A cycle may see a change's new validity with the old decision. Both were true of the
// node at the time. Of a brief it sees all of one or nothing.
//
// It is as large as a line of the processor's cache.
type square struct {
	// validity is a reserve.Validity.
	validity atomic.Int64
	// decision holds the rank in free pods as the bits of a float32 in the upper half, the number
	// of the change from bit 22, the flags of its brief from bit 16, the refusals' id from
	// bit 8, and the verdict below: Unseen from bit 4, Reported.
	decision atomic.Uint64
	// The others hold a brief's numbers in pairs; nobody reads them while the number of the
	// change is odd, but for ample. A brief with BriefUsual has nothing ample: its Avail is in the
	// place of the bytes then, beside no core.
	ample, cpu, scarce, memory atomic.Uint64
	brief                      [reserve.BriefNumbers / 2]atomic.Uint64
}

const (
	briefFlags   = 16
	changeNumber = 22
	changeMask   = 1<<10 - 1
)

// put writes v; one writer at a time.
func (s *square) put(v *view) {
	number := s.decision.Load()>>changeNumber&changeMask + 2
	s.decision.Or(1 << changeNumber) // it was even
	b := &v.brief
	if b.Flags&reserve.BriefUsual != 0 {
		s.ample.Store(join(0, b.Avail))
	} else {
		s.ample.Store(join(b.Ample.Cores, b.Ample.Bytes))
	}
	s.cpu.Store(join(b.Rank.CPU, b.Rank.Core))
	s.scarce.Store(join(b.Scarce.Kept, b.Scarce.Most))
	s.memory.Store(join(b.Rank.Memory, b.Rank.Byte))
	for i := range s.brief {
		s.brief[i].Store(join(b.Numbers[2*i], b.Numbers[2*i+1]))
	}
	// First: who has read the decision goes by no older validity.
	s.validity.Store(int64(v.validity))
	s.decision.Store(uint64(math.Float32bits(float32(v.rank)))<<32 | number&changeMask<<changeNumber |
		uint64(b.Flags)<<briefFlags | uint64(v.refusals.id)<<8 | uint64(v.verdict.Unseen)<<4 | uint64(v.verdict.Reported))
}

// holds says that the pod fits by far; of a brief that is being replaced it says so of one or the
// other.
func (s *square) holds(q *reserve.Question) bool {
	cores, bytes := split(s.ample.Load())
	return reserve.Ample{Cores: cores, Bytes: bytes}.Holds(q)
}

// read returns the brief and the decision beside it, unless they are being written.
func (s *square) read(b *reserve.Brief) (decision uint64, ok bool) {
	if decision = s.decision.Load(); isOdd(decision) {
		return decision, false
	}
	if b.Flags, b.Typical = flagsIn(decision), rankIn(decision); b.Flags&reserve.BriefUsual != 0 {
		_, b.Avail = split(s.ample.Load())
	}
	b.Scarce, b.Rank = s.scarcity(), s.rank()
	n := &b.Numbers // written out: it is read thousands of times a cycle
	n[0], n[1] = split(s.brief[0].Load())
	n[2], n[3] = split(s.brief[1].Load())
	return decision, s.decision.Load() == decision
}

// refuses says that the pod is refused for want of CPU, and what beside it was read; a brief that is
// being written, or asks for something else first, says nothing.
func (s *square) refuses(q *reserve.Question) (decision uint64, sure bool) {
	decision = s.decision.Load()
	return decision, s.scarcity().Refuses(s.rank(), q) && s.still(decision, reserve.BriefAsked)
}

// ranked returns what of the brief a pod is ranked by, unless it is being written or more of it has
// a say.
func (s *square) ranked() (r reserve.Rank, ok bool) {
	decision := s.decision.Load()
	r = s.rank()
	return r, s.still(decision, reserve.BriefRanked)
}

func (s *square) scarcity() (of reserve.Scarce) {
	of.Kept, of.Most = split(s.scarce.Load())
	return of
}

func (s *square) rank() (r reserve.Rank) {
	r.CPU, r.Core = split(s.cpu.Load())
	r.Memory, r.Byte = split(s.memory.Load())
	return r
}

// still says that what was read since the decision is of one brief, which has none of the flags.
func (s *square) still(decision uint64, without reserve.BriefFlags) bool {
	return decision&(1<<changeNumber|uint64(without)<<briefFlags) == 0 && s.decision.Load() == decision
}

// join and split make one of a pair of numbers, and the pair of it.
func join(low, high float32) uint64 {
	return uint64(math.Float32bits(high))<<32 | uint64(math.Float32bits(low))
}

func split(pair uint64) (low, high float32) {
	return math.Float32frombits(uint32(pair)), math.Float32frombits(uint32(pair >> 32))
}

// isOdd says that a decision is being replaced.
func isOdd(decision uint64) bool { return decision>>changeNumber&1 != 0 }

// flagsIn are a decision's.
func flagsIn(decision uint64) reserve.BriefFlags {
	return reserve.BriefFlags(decision >> briefFlags & (1<<(changeNumber-briefFlags) - 1))
}

// verdict is the reason for which a cycle refuses a node, or that it admits it, with the id of the
// refusals that put it into words from bit 8, and from bit 16 the flags and the number of the change
// that it was read of, or changeUnknown.
type verdict uint32

// changeUnknown is of no change: no brief has all flags.
const changeUnknown verdict = 0xffff << 16

func (d verdict) reason() reserve.Reason { return reserve.Reason(d & 0xff) }
func (d verdict) id() int                { return int(d >> 8 & 0xff) }

// holdsYet says that the node has not changed since, unless it has 512 times: it is not more open.
func (d verdict) holdsYet(s *square) bool {
	return (uint32(d)^uint32(s.decision.Load()))>>briefFlags == 0
}

// rankIn is the rank in a decision.
func rankIn(decision uint64) float32 { return math.Float32frombits(uint32(decision >> 32)) }

// judge reads a node: what a cycle at a moment decides for it and its rank,
// NaN if it is not ranked by its room.
func (r *rules) judge(s *square, at reserve.Moment) (verdict, float32) {
	decision := s.decision.Load()
	validity, rank := reserve.Validity(s.validity.Load()), rankIn(decision)
	d := verdict(decision & 0xffffff00)
	said := reserve.Verdict{Reported: reserve.Reason(decision & 0xf), Unseen: reserve.Reason(decision >> 4 & 0xf)}
	if validity.Fresh(at.Now) {
		return d | verdict(said.Reported), rank
	}
	if !r.freshness.Ranked(validity, at.Now) {
		rank = float32(math.NaN())
	}
	return d | verdict(r.freshness.Admit(validity, at, said)), rank
}
