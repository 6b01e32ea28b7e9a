package modelserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// populated returns a server that received some nodes at noon.
func populated(t testing.TB, nodes int) *modelserver.Server {
	t.Helper()
	s, err := modelserver.New(modelserver.Config{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	for n := range nodes {
		if _, err := s.Push(t.Context(), request(local(fmt.Sprintf("node-%04d", n), n%2, 1))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func encode(t testing.TB, s modelserver.Snapshot) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := modelserver.WriteSnapshot(&out, s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sameSnapshot compares instants, whatever their locations.
var sameSnapshot = cmp.Comparer(func(x, y time.Time) bool { return x.Equal(y) })

func TestSnapshotRoundTrip(t *testing.T) {
	for _, nodes := range []int{0, 1, 2000} { // the last needs several records
		want := populated(t, nodes).Snapshot()
		raw := encode(t, want)
		got, err := modelserver.ReadSnapshot(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if len(want.Entries) == 0 {
			want.Entries = nil
		}
		if diff := cmp.Diff(want, got, sameSnapshot); diff != "" {
			t.Errorf("%d nodes (-written +read):\n%s", nodes, diff)
		}
		if !bytes.Equal(raw, encode(t, got)) {
			t.Errorf("%d nodes: equal snapshots have different bytes", nodes)
		}
	}
}

// TestDamagedSnapshotsAreRefused truncates a snapshot after every byte, and flips every bit.
func TestDamagedSnapshotsAreRefused(t *testing.T) {
	good := encode(t, populated(t, 3).Snapshot())
	refused := func(what string, raw []byte) {
		t.Helper()
		var bad *modelserver.SnapshotError
		if s, err := modelserver.ReadSnapshot(bytes.NewReader(raw)); !errors.As(err, &bad) || len(s.Entries) > 0 {
			t.Fatalf("%s: %v, %d nodes", what, err, len(s.Entries))
		}
	}
	for n := range good {
		refused(fmt.Sprint("cut off after ", n), good[:n])
		for bit := range 8 {
			raw := bytes.Clone(good)
			raw[n] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d turned", bit, n), raw)
		}
	}
	refused("trailing bytes", append(bytes.Clone(good), 0))
	refused("twice", append(bytes.Clone(good), good...))
}

// record frames a message as a snapshot does.
func record(t testing.TB, m proto.Message) []byte {
	t.Helper()
	payload, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(frame(payload), payload...)
}

func frame(payload []byte) []byte {
	sum, n := crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)), uint32(len(payload))
	return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)}
}

// TestForgedSnapshotsAreRefused with correct checksums.
func TestForgedSnapshotsAreRefused(t *testing.T) {
	const magic = "spazagg\x01"
	state := func(spoil func(*spaziov1.NodeState)) *spaziov1.StateChunk {
		m := &spaziov1.NodeState{Node: "n", Schema: "s", Dim: 2, Weight: 20, Moments: []float64{.5, .1, .2}}
		if spoil != nil {
			spoil(m)
		}
		return &spaziov1.StateChunk{States: []*spaziov1.NodeState{m}}
	}
	one := &spaziov1.SnapshotHeader{States: 1}
	for _, tt := range []struct {
		name  string
		raw   []byte
		cause error
	}{
		{"empty", nil, io.ErrUnexpectedEOF},
		{"another version", []byte("spazagg\x02"), modelserver.ErrFormat},
		{"too long a record", append([]byte(magic), 0, 0, 0, 1, 0, 0, 0, 0), modelserver.ErrSize},
		{"a time before 1970", append([]byte(magic), record(t, &spaziov1.SnapshotHeader{WrittenUnixNanos: -1})...), api.ErrRange},
		{"fewer states", append([]byte(magic), record(t, one)...), modelserver.ErrCount},
		{"more states", bytes.Join([][]byte{[]byte(magic), record(t, one), record(t, state(nil)), record(t, state(nil))}, nil), modelserver.ErrCount},
		{"no name", bytes.Join([][]byte{[]byte(magic), record(t, one), record(t, state(func(m *spaziov1.NodeState) { m.Node = "" }))}, nil), api.ErrMissing},
		{"indefinite moments", bytes.Join([][]byte{[]byte(magic), record(t, one), record(t, state(func(m *spaziov1.NodeState) { m.Moments[1] = .9 }))}, nil), aggregate.ErrIndefinite},
	} {
		_, err := modelserver.ReadSnapshot(bytes.NewReader(tt.raw))
		var bad *modelserver.SnapshotError
		if !errors.As(err, &bad) || !errors.Is(err, tt.cause) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.cause)
		}
	}
}

func TestSnapshotFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if _, err := modelserver.LoadSnapshot(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got error %v", err)
	}
	for _, nodes := range []int{5, 2} { // the second replaces the first
		if err := os.WriteFile(path+".next", []byte("of a crash"), 0o600); err != nil {
			t.Fatal(err)
		}
		want := populated(t, nodes).Snapshot()
		err := modelserver.SaveSnapshot(path, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := modelserver.LoadSnapshot(path)
		if diff := cmp.Diff(want, got, sameSnapshot); err != nil || diff != "" {
			t.Errorf("%v (-saved +loaded):\n%s", err, diff)
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("got %d files, %v", len(files), err)
	}
	if err := modelserver.SaveSnapshot(filepath.Join(path, "below a file"), modelserver.Snapshot{}); err == nil {
		t.Error("saved below a file")
	}
}

// TestAgesContinueAcrossARestart: a snapshot is read after some time, by a process whose clock may have
// gone back.
func TestAgesContinueAcrossARestart(t *testing.T) {
	snapshot := populated(t, 2).Snapshot()
	snapshot.Entries[0].Age = time.Minute
	snapshot.Version = 41
	for later, want := range map[time.Duration][]time.Duration{
		10 * time.Second:             {70 * time.Second, 10 * time.Second},
		-time.Hour:                   {time.Minute, 0},
		49*time.Minute + time.Second: {49*time.Minute + time.Second}, // the other is due to be forgotten
		math.MaxInt64:                nil,
	} {
		s, err := modelserver.New(modelserver.Config{Now: func() time.Time { return noon.Add(later) }})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Restore(snapshot); n != len(want) || err != nil {
			t.Errorf("after %v: %d nodes, %v", later, n, err)
		}
		var ages []time.Duration
		again := s.Snapshot()
		for _, e := range again.Entries {
			ages = append(ages, e.Age)
		}
		if diff := cmp.Diff(want, ages); diff != "" || again.Version != 41 {
			t.Errorf("after %v, version %d: (-want +got)\n%s", later, again.Version, diff)
		}
	}
}

func TestRestoreBeyondTheBoundIsReported(t *testing.T) {
	snapshot := populated(t, 5).Snapshot()
	s, err := modelserver.New(modelserver.Config{Now: func() time.Time { return noon }, Aggregate: aggregate.Options{MaxNodes: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Restore(snapshot); n != 3 || !errors.Is(err, aggregate.ErrFull) {
		t.Errorf("Restore: %d nodes, %v", n, err)
	}
}

// FuzzReadSnapshot: a decoded snapshot can be restored and encoded again unchanged; anything else is a
// *SnapshotError.
func FuzzReadSnapshot(f *testing.F) {
	good := encode(f, populated(f, 2).Snapshot())
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkSnapshot(t, raw)
		// Also with a correct checksum, so that the fuzzer gets beyond it.
		forged := append([]byte("spazagg\x01"), record(t, &spaziov1.SnapshotHeader{States: 1})...)
		checkSnapshot(t, append(append(forged, frame(raw)...), raw...))
		forged = append([]byte("spazagg\x01"), frame(raw)...)
		checkSnapshot(t, append(forged, raw...))
	})
}

func checkSnapshot(t *testing.T, raw []byte) {
	t.Helper()
	s, err := modelserver.ReadSnapshot(bytes.NewReader(raw))
	if err != nil {
		var bad *modelserver.SnapshotError
		if !errors.As(err, &bad) {
			t.Fatalf("ReadSnapshot: %v", err)
		}
		return
	}
	again, err := modelserver.ReadSnapshot(bytes.NewReader(encode(t, s)))
	if diff := cmp.Diff(s, again, sameSnapshot); err != nil || diff != "" {
		t.Fatalf("round trip: %v (-read +again)\n%s", err, diff)
	}
	server, err := modelserver.New(modelserver.Config{Now: func() time.Time { return s.Written }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Restore(s); err != nil && !errors.Is(err, aggregate.ErrFull) {
		t.Fatal(err)
	}
	a, err := aggregate.New(aggregate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Entries {
		if _, err := a.Restore(s.Written, e); err != nil && !errors.Is(err, aggregate.ErrFull) {
			t.Fatal(err)
		}
	}
	if _, err := a.Globals(s.Written); err != nil {
		t.Fatal(err)
	}
}
