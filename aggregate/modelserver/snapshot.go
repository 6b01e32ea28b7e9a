package modelserver

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/field"
)

// snapshot is the state of a Server as plain data.
type snapshot struct {
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

// snapshotError names the record of a snapshot that cannot be used, counted from 0
// for the header, -1 for what comes before, and why.
type snapshotError struct {
	Record int
	Err    error
}

// Error is one line.
func (e *snapshotError) Error() string {
	return fmt.Sprintf("modelserver: snapshot: record %d: %v", e.Record, e.Err)
}

// Unwrap returns the reason.
func (e *snapshotError) Unwrap() error { return e.Err }

var (
	// errFormat refuses what is no snapshot, or one of another version.
	errFormat = errors.New("not a snapshot of this version")
	// errChecksum refuses a record that has changed since it was written.
	errChecksum = errors.New("checksum mismatch")
	// errCount refuses a snapshot with more or fewer states than it announces.
	errCount = errors.New("wrong number of states")
	// errSize refuses a record that is too long.
	errSize = errors.New("record too long")
)

// writeSnapshot encodes a snapshot; equal ones make equal bytes.
func writeSnapshot(w io.Writer, s snapshot) error {
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

// readSnapshot decodes and checks a whole snapshot: it is good, or the error is
// a *snapshotError and nothing of it is returned. What is wrong with a state is
// an *field.Error inside.
func readSnapshot(r io.Reader) (snapshot, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(in, begin); err != nil {
		return snapshot{}, &snapshotError{Record: -1, Err: truncated(err)}
	}
	if string(begin) != magic {
		return snapshot{}, &snapshotError{Record: -1, Err: errFormat}
	}
	var header spaziov1.SnapshotHeader
	if err := readRecord(in, &header); err != nil {
		return snapshot{}, &snapshotError{Err: truncated(err)}
	}
	if err := api.CheckHeader(&header); err != nil {
		return snapshot{}, &snapshotError{Err: err}
	}
	s := snapshot{Written: time.Unix(0, header.GetWrittenUnixNanos()), Version: header.GetVersion()}
	for record := 1; ; record++ {
		var chunk spaziov1.StateChunk
		err := readRecord(in, &chunk)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		entries, err := checkedEntries(&chunk, err)
		if err != nil {
			return snapshot{}, &snapshotError{Record: record, Err: err}
		}
		s.Entries = append(s.Entries, entries...)
		if uint64(len(s.Entries)) > header.GetStates() {
			return snapshot{}, &snapshotError{Record: record, Err: errCount}
		}
	}
	if uint64(len(s.Entries)) != header.GetStates() {
		return snapshot{}, &snapshotError{Err: fmt.Errorf("%w: %d of %d", errCount, len(s.Entries), header.GetStates())}
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
		return errSize
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return truncated(err)
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return errChecksum
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

// snapshot returns the state, with what waits to be merged.
func (s *Server) snapshot() snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merge()
	now := s.config.Now()
	return snapshot{Written: now, Version: s.published.Load().version, Entries: s.aggregate.Entries(now)}
}

// restore takes in a snapshot of this replica's past before Run, and returns
// how many of its nodes are back. The nodes have grown older by the time since
// it was written, by the clock's time of day; a clock that has gone back since
// adds nothing. The error is what the aggregate refused first; the others are
// taken in all the same.
func (s *Server) restore(snapshot snapshot) (int, error) {
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

// saveSnapshot writes a snapshot to a file so that a crash at any moment leaves
// the file as it was or complete: a new file beside it is written, synced and
// renamed, and the directory synced. One process saves to a path at
// a time.
func saveSnapshot(path string, s snapshot) (err error) {
	// The name is fixed, so that what a crash leaves behind is overwritten.
	next := path + ".next"
	defer func() {
		if err != nil {
			err = fmt.Errorf("modelserver: save snapshot: %w", errors.Join(err, remove(next)))
		}
	}()
	if err = write(next, s); err != nil {
		return err
	}
	if err = os.Rename(next, path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func write(path string, s snapshot) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := writeSnapshot(file, s); err != nil {
		return err
	}
	return file.Sync()
}

func syncDirectory(path string) (err error) {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, directory.Close()) }()
	return directory.Sync()
}

// loadSnapshot reads a file that saveSnapshot wrote. The error is a
// *snapshotError where the content is not good, an *os.PathError where it can't
// be read.
func loadSnapshot(path string) (snapshot, error) {
	file, err := os.Open(path)
	if err != nil {
		return snapshot{}, err
	}
	defer file.Close()
	return readSnapshot(file)
}

// KeeperConfig sets where a Keeper keeps a server's state.
type KeeperConfig struct {
	// Path is the file; a process must be the only one that saves to it.
	Path string
	// Interval is the time between two snapshots, default 10 s: a process that is
	// killed loses no more than its nodes push again anyway.
	Interval time.Duration
	// Logger gets what could not be read or saved, which is not fatal: the server
	// goes on without. Nil logs nothing.
	Logger *slog.Logger
}

// validate returns an *field.Error for the first field out of range.
func (c KeeperConfig) validate() error {
	switch {
	case c.Path == "":
		return &field.Error{Package: "aggregate", Field: "Path", Value: c.Path, Err: aggregate.ErrRange}
	case c.Interval < 0:
		return &field.Error{Package: "aggregate", Field: "Interval", Value: c.Interval, Err: aggregate.ErrRange}
	}
	return nil
}

// Keeper keeps a server's state in a file across restarts. Restore, Run and Save
// are called one after the other, Age is safe for concurrent use with them.
type Keeper struct {
	config KeeperConfig
	server *Server

	saved atomic.Pointer[time.Time] // the last snapshot, or when the Keeper was made
}

// NewKeeper returns a Keeper of the server's state.
func NewKeeper(s *Server, c KeeperConfig) (*Keeper, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Interval = cmp.Or(c.Interval, 10*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{config: c, server: s}
	k.note()
	return k, nil
}

// Restore takes in the file, if there is one, before the server runs. What can't be
// used is left where it is until the first save.
func (k *Keeper) Restore() {
	logger := k.config.Logger.With("path", k.config.Path)
	snapshot, err := loadSnapshot(k.config.Path)
	if errors.Is(err, os.ErrNotExist) {
		logger.Info("no snapshot yet; starting without")
		return
	}
	if err != nil {
		logger.Error("the snapshot can't be used; starting without", "error", err)
		return
	}
	nodes, err := k.server.restore(snapshot)
	if err != nil {
		logger.Warn("not all of the snapshot could be used", "error", err)
	}
	logger.Info("restored the snapshot", "nodes", nodes, "written", snapshot.Written)
}

// Run saves at every interval until ctx ends, which is no error. The last pushes
// are saved by a Save after the server has ended.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(k.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			k.Save()
		}
	}
}

// Save saves a snapshot; one that fails is logged.
func (k *Keeper) Save() {
	if err := saveSnapshot(k.config.Path, k.server.snapshot()); err != nil {
		k.config.Logger.Error("the snapshot was not saved", "path", k.config.Path, "error", err)
		return
	}
	k.note()
}

func (k *Keeper) note() {
	now := time.Now()
	k.saved.Store(&now)
}

// age returns the time since the last snapshot was saved, or since NewKeeper.
func (k *Keeper) age() time.Duration { return time.Since(*k.saved.Load()) }
