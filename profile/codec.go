package profile

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// encoder appends values to a state.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64)   { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)     { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) key(v uint64)    { e.b = binary.BigEndian.AppendUint64(e.b, v) }
func (e *encoder) float(v float64) { e.key(math.Float64bits(v)) }
func (e *encoder) single(v float64) {
	e.b = binary.BigEndian.AppendUint32(e.b, math.Float32bits(float32(v)))
}
func (e *encoder) time(at time.Time)  { e.int(unixNano(at)) }
func (e *encoder) text(s string)      { e.uint(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) flags(bits ...bool) { e.b = append(e.b, packed(bits)) }

// unixNano is 0 for the zero time.
func unixNano(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixNano()
}

func packed(bits []bool) (b byte) {
	for i, bit := range bits {
		if bit {
			b |= 1 << i
		}
	}
	return b
}

// errTruncated reports that a state ends too early.
var errTruncated = errors.New("truncated")

// decoder takes values from a state; after the first that is missing or out of
// range err says so and all are 0.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

// take is the next n bytes, zeros if there are fewer.
func (d *decoder) take(n int) []byte {
	if len(d.b) < n {
		d.fail(refuseState(errTruncated))
		return make([]byte, n)
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(refuseState(errTruncated))
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(refuseState(errTruncated))
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count is a number of elements of at least size bytes each.
func (d *decoder) count(what string, most, size int) int {
	n := d.uint()
	if n > uint64(most) || n*uint64(size) > uint64(len(d.b)) {
		d.fail(refuse("state."+what, n, "fewer, and as many as follow"))
		return 0
	}
	return int(n)
}

func (d *decoder) key() uint64 { return binary.BigEndian.Uint64(d.take(8)) }

// float is a value of at most most.
func (d *decoder) float(what string, most float64) float64 {
	return d.checked(what, math.Float64frombits(d.key()), most)
}

func (d *decoder) single(what string, most float64) float64 {
	return d.checked(what, float64(math.Float32frombits(binary.BigEndian.Uint32(d.take(4)))), most)
}

func (d *decoder) checked(what string, v, most float64) float64 {
	if !(v >= 0) || v > most {
		d.fail(refuse("state."+what, v, "not negative and within bounds"))
		return 0
	}
	return v
}

// peak is the largest sample of a span, −1 without any.
func (d *decoder) peak(most float64) float64 {
	v := float64(math.Float32frombits(binary.BigEndian.Uint32(d.take(4))))
	if v == -1 {
		return v
	}
	return d.checked("peak", v, most)
}

// time is a time from 1970 on, optional one or the zero time.
func (d *decoder) optional(what string) time.Time {
	if len(d.b) > 0 && d.b[0] == 0 {
		d.b = d.b[1:]
		return time.Time{}
	}
	return d.time(what)
}

func (d *decoder) time(what string) time.Time {
	ns := d.int()
	at := time.Unix(0, ns)
	if ns < 0 || checkTime(at) != nil {
		d.fail(refuse("state."+what, ns, "a time from 1970 to 2255"))
		return time.Time{}
	}
	return at
}

func (d *decoder) text(what string, most int) string { return string(d.take(d.count(what, most, 1))) }

func (d *decoder) flags() (bits [8]bool) {
	b := d.take(1)[0]
	for i := range bits {
		bits[i] = b>>i&1 == 1
	}
	return bits
}
