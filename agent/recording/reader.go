package recording

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"

	"github.com/spazio-scheduler/spazio/agent"
)

// Reader reads a recording. It is not safe for concurrent use.
type Reader struct {
	paths []string // not opened yet
	open  *os.File
	input *bufio.Reader

	path    string
	offset  int64 // of the next record
	started bool  // the preamble was read
	first   bool  // the next record has to be a header
	based   bool  // a snapshot came since the header or the last gap
	pods    []agent.Pod
	buffer  []byte
}

// Open returns a Reader of one file, or of all files of a directory in the
// order they were written. A directory without any is ErrEmpty.
func Open(path string) (*Reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if !info.IsDir() {
		return &Reader{paths: []string{path}}, nil
	}
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrEmpty, path)
	}
	r := &Reader{}
	for _, f := range files {
		r.paths = append(r.paths, f.path)
	}
	return r, nil
}

// NewReader returns a Reader of the one file that in holds.
func NewReader(in io.Reader) *Reader {
	r := &Reader{}
	r.begin("", in)
	return r
}

func (r *Reader) begin(path string, in io.Reader) {
	*r = Reader{
		paths: r.paths, open: r.open, path: path, buffer: r.buffer[:0],
		input: bufio.NewReaderSize(in, 1<<16),
	}
}

// Next returns the next record, or io.EOF after the last. After a *TornError or
// a *FormatError the next call goes on with the next file. Any other error is
// that of the file system.
func (r *Reader) Next() (Record, error) {
	for {
		if r.input == nil {
			if len(r.paths) == 0 {
				return Record{}, io.EOF
			}
			path := r.paths[0]
			r.paths = r.paths[1:]
			file, err := os.Open(path)
			if err != nil {
				return Record{}, fmt.Errorf("recording: %w", err)
			}
			r.open = file
			r.begin(path, file)
		}
		rec, err := r.read()
		if err == nil {
			return rec, nil
		}
		r.Close()
		if !errors.Is(err, io.EOF) {
			return Record{}, err
		}
	}
}

// Records returns the records that are left, with the errors of Next among
// them. Close the Reader if not all are taken.
func (r *Reader) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// Close gives up the file being read; the next call of Next goes on with the
// next one.
func (r *Reader) Close() error {
	r.input = nil
	if r.open == nil {
		return nil
	}
	err := r.open.Close()
	r.open = nil
	return err
}

// read returns the next record of the file, io.EOF at its end.
func (r *Reader) read() (Record, error) {
	if !r.started {
		if err := r.readPreamble(); err != nil {
			return Record{}, err
		}
	}
	payload, size, err := r.readPayload()
	if err != nil {
		return Record{}, err
	}
	rec, err := decode(payload, r.pods)
	if err == nil {
		err = r.admit(rec.Kind)
	}
	if err != nil {
		return Record{}, &FormatError{r.path, r.offset, err}
	}
	r.offset += size
	switch rec.Kind {
	case KindSnapshot:
		r.pods = listed(rec.State)
	case KindPods:
		r.pods = rec.Pods
	}
	return rec, nil
}

// listed are the pods of a state as their source saw them.
func listed(s *agent.State) []agent.Pod {
	pods := make([]agent.Pod, len(s.Pods))
	for i, r := range s.Pods {
		pods[i] = r.Pod
	}
	return pods
}

// admit checks the order of the records.
func (r *Reader) admit(k Kind) error {
	switch {
	case r.first != (k == KindHeader):
		return fmt.Errorf("a %s where the header must be, or a second header", k)
	case k == KindHeader:
		r.first = false
	case k == KindGap:
		r.based = false
	case k == KindSnapshot:
		r.based = true
	case !r.based:
		return fmt.Errorf("a %s before the snapshot", k)
	}
	return nil
}

func (r *Reader) readPreamble() error {
	var raw [preamble]byte
	if n, err := io.ReadFull(r.input, raw[:]); err != nil {
		return r.short(err, n, "the file ends before its first record")
	}
	if string(raw[:len(magic)]) != magic {
		return &FormatError{r.path, 0, errors.New("is not a recording")}
	}
	if v := binary.LittleEndian.Uint16(raw[len(magic):]); v != formatVersion {
		return &FormatError{r.path, int64(len(magic)), fmt.Errorf("version %d, want %d", v, formatVersion)}
	}
	r.started, r.first, r.offset = true, true, int64(preamble)
	return nil
}

// short turns the end of a file that came too early into a *TornError.
func (r *Reader) short(err error, read int, reason string) error {
	switch {
	case errors.Is(err, io.EOF) && read == 0 && r.started && !r.first:
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &TornError{r.path, r.offset, reason}
	}
	return fmt.Errorf("recording: %s: %w", name(r.path), err)
}

// readPayload returns the payload of the next record, valid until the next
// call, and the size of the record.
func (r *Reader) readPayload() ([]byte, int64, error) {
	const ends = "the file ends within a record"
	r.buffer = r.buffer[:0]
	length := uint64(0)
	for shift := 0; ; shift += 7 {
		c, err := r.input.ReadByte()
		if err != nil {
			return nil, 0, r.short(err, len(r.buffer), ends)
		}
		r.buffer = append(r.buffer, c)
		length |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
		if shift >= 21 {
			length = maxRecord + 1
			break
		}
	}
	if length == 0 || length > maxRecord {
		return nil, 0, &TornError{r.path, r.offset, fmt.Sprintf("a record of %d bytes", length)}
	}
	head := len(r.buffer)
	total := head + int(length) + sumSize
	if cap(r.buffer) < total {
		r.buffer = append(make([]byte, 0, total), r.buffer...)
	}
	r.buffer = r.buffer[:total]
	if _, err := io.ReadFull(r.input, r.buffer[head:]); err != nil {
		return nil, 0, r.short(err, head, ends)
	}
	sum := binary.LittleEndian.Uint32(r.buffer[total-sumSize:])
	if sum != crc32.Checksum(r.buffer[:total-sumSize], castagnoli) {
		return nil, 0, &TornError{r.path, r.offset, "the sum does not match"}
	}
	return r.buffer[head : total-sumSize], int64(total), nil
}
