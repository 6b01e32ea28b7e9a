package modelserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// Snapshot is the state of a Server as plain data.
type Snapshot struct {
	// Written is the time of day; ages count from it.
	Written time.Time
	// Version is that of the models published last.
	Version uint64
	// Entries are in order of the nodes' names.
	Entries []aggregate.Entry
}

// A snapshot is written as
//
//	magic  header  chunk  chunk  …
//
// where the magic's last byte is the format's version and header and chunks are
// records: length and CRC-32C of the payload, four bytes each, little-endian,
// and the payload, a SnapshotHeader or a StateChunk.
const (
	magic = "spazagg\x01"
	// maxRecord bounds what one record can make a reader allocate; chunkSize
	// keeps writers well below.
	maxRecord = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SnapshotError says which record of a snapshot can't be used, counted from 0
// for the header, -1 for what comes before; and why.
type SnapshotError struct {
	Record int
	Err    error
}

// Error is one line.
func (e *SnapshotError) Error() string {
	return fmt.Sprintf("modelserver: snapshot: record %d: %v", e.Record, e.Err)
}

// Unwrap returns the reason.
func (e *SnapshotError) Unwrap() error { return e.Err }

var (
	// ErrFormat refuses what is no snapshot, or one of another version.
	ErrFormat = errors.New("not a snapshot of this version")
	// ErrChecksum refuses a record that has changed since it was written.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrCount refuses a snapshot with more or fewer states than it announces.
	ErrCount = errors.New("wrong number of states")
	// ErrSize refuses a record that is too long.
	ErrSize = errors.New("record too long")
)

// WriteSnapshot encodes a snapshot; equal ones make equal bytes.
func WriteSnapshot(w io.Writer, s Snapshot) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if _, err := out.WriteString(magic); err != nil {
		return fmt.Errorf("modelserver: write snapshot: %w", err)
	}
	err := writeRecord(out, &spaziov1.SnapshotHeader{WrittenUnixNanos: s.Written.UnixNano(), Version: s.Version, States: uint64(len(s.Entries))})
	chunk, size := &spaziov1.StateChunk{}, 0
	for i := 0; i < len(s.Entries) && err == nil; i++ {
		chunk.States = append(chunk.States, fromEntry(s.Entries[i]))
		if size += s.Entries[i].Size(); size >= chunkSize || i == len(s.Entries)-1 {
			err = writeRecord(out, chunk)
			chunk, size = &spaziov1.StateChunk{}, 0
		}
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("modelserver: write snapshot: %w", err)
	}
	return nil
}

func writeRecord(w io.Writer, m proto.Message) error {
	payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(payload, castagnoli))
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = w.Write(payload)
	return err
}

// ReadSnapshot decodes and checks a whole snapshot: it is good, or the error is
// a *SnapshotError and nothing of it is returned. What is wrong with a state is
// an *field.Error inside.
func ReadSnapshot(r io.Reader) (Snapshot, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(in, begin); err != nil {
		return Snapshot{}, &SnapshotError{Record: -1, Err: truncated(err)}
	}
	if string(begin) != magic {
		return Snapshot{}, &SnapshotError{Record: -1, Err: ErrFormat}
	}
	var header spaziov1.SnapshotHeader
	if err := readRecord(in, &header); err != nil {
		return Snapshot{}, &SnapshotError{Err: truncated(err)}
	}
	if err := api.CheckHeader(&header); err != nil {
		return Snapshot{}, &SnapshotError{Err: err}
	}
	s := Snapshot{Written: time.Unix(0, header.GetWrittenUnixNanos()), Version: header.GetVersion()}
	for record := 1; ; record++ {
		var chunk spaziov1.StateChunk
		err := readRecord(in, &chunk)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		entries, err := checkedEntries(&chunk, err)
		if err != nil {
			return Snapshot{}, &SnapshotError{Record: record, Err: err}
		}
		s.Entries = append(s.Entries, entries...)
		if uint64(len(s.Entries)) > header.GetStates() {
			return Snapshot{}, &SnapshotError{Record: record, Err: ErrCount}
		}
	}
	if uint64(len(s.Entries)) != header.GetStates() {
		return Snapshot{}, &SnapshotError{Err: fmt.Errorf("%w: %d of %d", ErrCount, len(s.Entries), header.GetStates())}
	}
	return s, nil
}

// truncated names an end that came too early.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func readRecord(r io.Reader, m proto.Message) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > maxRecord {
		return ErrSize
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return truncated(err)
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return ErrChecksum
	}
	return proto.Unmarshal(payload, m)
}

func checkedEntries(chunk *spaziov1.StateChunk, err error) ([]aggregate.Entry, error) {
	if err != nil {
		return nil, err
	}
	if err := api.CheckStates(chunk.GetStates()); err != nil {
		return nil, err
	}
	return toEntries(chunk.GetStates())
}

// Snapshot returns the state, with what waits to be merged.
func (s *Server) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merge()
	now := s.config.Now()
	return Snapshot{Written: now, Version: s.published.Load().version, Entries: s.aggregate.Entries(now)}
}

// Restore takes in a snapshot of this replica's past before Run, and returns
// how many of its nodes are back. The nodes have grown older by the time since
// it was written, by the clock's time of day; a clock that has gone back since
// adds nothing. The error is what the aggregate refused first; the others are
// taken in all the same.
func (s *Server) Restore(snapshot Snapshot) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	slept := max(0, now.Round(0).Sub(snapshot.Written.Round(0)))
	var refused error
	for _, e := range snapshot.Entries {
		if e.Age = e.Age + slept; e.Age < 0 {
			e.Age = math.MaxInt64
		}
		taken, err := s.aggregate.Restore(now, e)
		s.changed = s.changed || taken
		if err != nil && refused == nil {
			refused = fmt.Errorf("modelserver: restore %q: %w", e.Node, err)
		}
	}
	s.published.Store(&publication{version: snapshot.Version})
	return s.aggregate.Len(), refused
}
