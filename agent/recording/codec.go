package recording

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	magic         = "\x89SPZREC\n"
	formatVersion = 2
	preamble      = len(magic) + 2
	sumSize       = 4
	// maxRecord bounds a payload, and so what a reader allocates: a snapshot of
	// some thousands of pods.
	maxRecord = 1 << 20
	zeroTime  = math.MinInt64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendPreamble(dst []byte) []byte {
	return binary.LittleEndian.AppendUint16(append(dst, magic...), formatVersion)
}

// appendRecord frames a payload.
func appendRecord(dst, payload []byte) []byte {
	from := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	dst = append(dst, payload...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

func appendUint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendFloat(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

func appendFloat32(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

func appendKey(dst []byte, k reserve.PodKey) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(k))
}

func appendKeys(dst []byte, keys []reserve.PodKey) []byte {
	dst = appendUint(dst, uint64(len(keys)))
	for _, k := range keys {
		dst = appendKey(dst, k)
	}
	return dst
}

func appendTime(dst []byte, t time.Time) []byte {
	ns := int64(zeroTime)
	if !t.IsZero() {
		ns = t.UnixNano()
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(ns))
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendString(dst []byte, s string) []byte {
	return append(appendUint(dst, uint64(len(s))), s...)
}

func appendFloats(dst []byte, v []float64) []byte {
	dst = appendUint(dst, uint64(len(v)))
	for _, f := range v {
		dst = appendFloat(dst, f)
	}
	return dst
}

// errBody is the cause of every body that can't be decoded.
var errBody = errors.New("does not decode")

// body is what remains to be decoded of a payload. After the first failure
// every further value is zero.
type body struct {
	rest   []byte
	failed bool
}

func (b *body) fail() { b.rest, b.failed = nil, true }

func (b *body) next(n int) []byte {
	if n > len(b.rest) {
		b.fail()
		return nil
	}
	raw := b.rest[:n]
	b.rest = b.rest[n:]
	return raw
}

func (b *body) uint() uint64 {
	v, n := binary.Uvarint(b.rest)
	if n <= 0 {
		b.fail()
		return 0
	}
	b.rest = b.rest[n:]
	return v
}

// int is a uint that has to be at most limit.
func (b *body) int(limit int) int {
	v := b.uint()
	if v > uint64(limit) {
		b.fail()
		return 0
	}
	return int(v)
}

// length is that of a list whose elements take at least size bytes each, so a
// hostile one asks for no more memory than the payload has.
func (b *body) length(size int) int { return b.int(len(b.rest) / size) }

func (b *body) word() uint64 {
	if raw := b.next(8); raw != nil {
		return binary.LittleEndian.Uint64(raw)
	}
	return 0
}

func (b *body) float() float64 { return math.Float64frombits(b.word()) }

func (b *body) float32() float32 {
	if raw := b.next(4); raw != nil {
		return math.Float32frombits(binary.LittleEndian.Uint32(raw))
	}
	return 0
}

func (b *body) time() time.Time {
	ns := int64(b.word())
	if b.failed || ns == zeroTime {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

func (b *body) byte() byte {
	if raw := b.next(1); raw != nil {
		return raw[0]
	}
	return 0
}

func (b *body) bool() bool {
	v := b.byte()
	if v > 1 {
		b.fail()
	}
	return v == 1
}

func (b *body) string() string { return string(b.next(b.length(1))) }

func (b *body) floats() []float64 { return list(b, 8, b.float) }

func (b *body) key() reserve.PodKey { return reserve.PodKey(b.word()) }

func (b *body) keys() []reserve.PodKey { return list(b, 8, b.key) }

// list decodes a list whose elements take at least size bytes each; an empty
// one is nil.
func list[T any](b *body, size int, element func() T) []T {
	n := b.length(size)
	if n == 0 {
		return nil
	}
	l := make([]T, n)
	for i := range l {
		l[i] = element()
	}
	return l
}

// end returns an error if a value failed to decode or bytes are left.
func (b *body) end() error {
	if b.failed || len(b.rest) > 0 {
		return errBody
	}
	return nil
}
