package recording

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
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

// Records that are rare are JSON, whose floats are the same when read back and
// whose fields need no code of their own.

// Header begins a file.
type Header struct {
	// Part counts the files of one Recorder from 1.
	Part int `json:"part"`
	// Config is that of the pipeline recorded.
	Config agent.Config `json:"config"`
}

// fleet is a word of the aggregator and when it came.
type fleet struct {
	At     time.Time    `json:"at"`
	Schema string       `json:"schema"`
	Model  svd.State    `json:"model"`
	Costs  []agent.Cost `json:"costs"`
	Nodes  int          `json:"nodes"`
}

func appendJSON(dst []byte, k Kind, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("recording: %s: %w", k, err)
	}
	return append(append(dst, byte(k)), text...), nil
}

// decodeJSON reads all of text into v. A field that v does not have is refused:
// without it nothing could be replayed truly.
func decodeJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errBody
	}
	return nil
}

func appendFleet(dst []byte, at time.Time, f agent.Fleet) ([]byte, error) {
	return appendJSON(dst, KindFleet, fleet{at.Round(0).UTC(), f.Schema, f.Model.State(), f.Costs, f.Nodes})
}

func decodeHeader(text []byte) (Record, error) {
	h := new(Header)
	if err := decodeJSON(text, h); err != nil {
		return Record{}, err
	}
	if err := h.Config.Validate(); err != nil {
		return Record{}, err
	}
	return Record{Kind: KindHeader, Header: h}, nil
}

func decodeState(text []byte) (Record, error) {
	s := new(agent.State)
	if err := decodeJSON(text, s); err != nil {
		return Record{}, err
	}
	return Record{Kind: KindSnapshot, At: s.At, State: s}, nil
}

func decodeFleet(text []byte) (Record, error) {
	var f fleet
	if err := decodeJSON(text, &f); err != nil {
		return Record{}, err
	}
	r := Record{Kind: KindFleet, At: f.At, Fleet: &agent.Fleet{Schema: f.Schema, Costs: f.Costs, Nodes: f.Nodes}}
	if f.Model.Dim == 0 {
		return r, nil
	}
	var err error
	r.Fleet.Model, err = svd.FromState(f.Model)
	return r, err
}

// ErrEmpty reports that a directory holds no recording.
var ErrEmpty = errors.New("recording: no files")

// refuse returns a *field.Error with the reason in words.
func refuse(name string, value any, format string, args ...any) error {
	return &field.Error{Package: "recording", Field: name, Value: value, Err: fmt.Errorf("%w: "+format, append([]any{agent.ErrInvalid}, args...)...)}
}

// TornError reports that a file ends within a record, as one does that its writer
// could not close. What was read before is good.
type TornError struct {
	// Path is the file, empty for a stream; Offset is where the torn record
	// begins.
	Path   string
	Offset int64
	Reason string
}

func (e *TornError) Error() string {
	return fmt.Sprintf("recording: %s is torn at byte %d: %s", name(e.Path), e.Offset, e.Reason)
}

// FormatError reports that a file is no recording, of another version, or holds a
// record that is whole but makes no sense.
type FormatError struct {
	// Path is the file, empty for a stream; Offset is where the record begins.
	Path   string
	Offset int64
	Err    error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("recording: %s, byte %d: %v", name(e.Path), e.Offset, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

func name(path string) string {
	if path == "" {
		return "stream"
	}
	return path
}

// DriftError reports that a snapshot is not the state that replay had arrived at.
type DriftError struct {
	// At is the time of the snapshot.
	At time.Time
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("recording: the state at %s is not the one replayed", e.At.Format(time.RFC3339Nano))
}
