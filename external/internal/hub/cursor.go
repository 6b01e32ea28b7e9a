package hub

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"
)

// ErrCursor says that a cursor was not made by a Hub.
var ErrCursor = errors.New("malformed cursor")

// cursorFormat is the first byte of a cursor: a replica of another release may read another.
const cursorFormat = 1

// maxMarks is of how many Testbeds' slots a cursor tells; with more, slots begin anew.
const maxMarks = 256

// lostSlots marks, among a cursor's kinds, that slots were watched but are not in it.
const lostSlots kindSet = 1 << 7

// cursor is how far a subscription was told.
type cursor struct {
	filter   uint32  // Hub.scope of its Filter
	kinds    kindSet // that it is about
	versions [len(kinds)]uint64
	marks    []mark // by object
}

// mark is which slots of a Testbed were told.
type mark struct {
	object  uint64 // hash of its key
	hash    uint64 // of the slots
	version uint64
}

// encode returns base64 of
//
//	format, filter (4 bytes), kinds, a varint version of each, but for slots
//	the number of marks and object (8), hash (8), varint version of each,
//	FNV-1a of all that (4)
func (c *cursor) encode() string {
	b := make([]byte, 0, 48+26*len(c.marks))
	b = append(b, cursorFormat)
	b = binary.BigEndian.AppendUint32(b, c.filter)
	b = append(b, byte(c.kinds))
	for r, version := range c.versions {
		if c.kinds.has(r) && r != slotsRank {
			b = binary.AppendUvarint(b, version)
		}
	}
	if c.kinds.has(slotsRank) {
		b = binary.AppendUvarint(b, uint64(len(c.marks)))
		for _, m := range c.marks {
			b = binary.BigEndian.AppendUint64(b, m.object)
			b = binary.BigEndian.AppendUint64(b, m.hash)
			b = binary.AppendUvarint(b, m.version)
		}
	}
	b = binary.BigEndian.AppendUint32(b, checksum(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor reads what encode wrote, and nothing else.
func decodeCursor(text string) (cursor, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(data) < 10 || data[0] != cursorFormat {
		return cursor{}, ErrCursor
	}
	body := data[:len(data)-4]
	r := reader{data: body[1:]}
	c := cursor{filter: binary.BigEndian.Uint32(r.take(4)), kinds: kindSet(r.take(1)[0])}
	for i := range c.versions {
		if c.kinds.has(i) && i != slotsRank {
			c.versions[i] = r.uvarint()
		}
	}
	if c.kinds.has(slotsRank) {
		n := r.uvarint()
		for range min(n, maxMarks+1) {
			c.marks = append(c.marks, mark{
				object: binary.BigEndian.Uint64(r.take(8)), hash: binary.BigEndian.Uint64(r.take(8)), version: r.uvarint(),
			})
		}
	}
	known := kindSet(1<<len(kinds) - 1)
	switch {
	case r.failed, len(r.data) > 0, len(c.marks) > maxMarks, c.kinds&^known&^lostSlots != 0,
		c.kinds&lostSlots != 0 && c.kinds.has(slotsRank),
		!slices.IsSortedFunc(c.marks, compareMarks):
		return cursor{}, ErrCursor
	}
	if c.encode() != text { // nor is the sum right, or a varint spelt otherwise
		return cursor{}, ErrCursor
	}
	return c, nil
}

func compareMarks(a, b mark) int { return cmp.Compare(a.object, b.object) }

func checksum(data []byte) uint32 {
	h := fnv.New32a()
	h.Write(data)
	return h.Sum32()
}

// reader takes bytes until there are none; then it fails, and takes zeros.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if len(r.data) < n {
		r.failed, r.data = true, nil
		return make([]byte, n)
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.failed, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}
