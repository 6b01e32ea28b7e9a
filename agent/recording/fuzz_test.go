package recording_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"testing"

	"github.com/spazio-scheduler/spazio/agent/recording"
)

// small returns the bytes of a short recording.
func small(f *testing.F, seed uint64) []byte {
	dir := f.TempDir()
	n := newNode(f, seed, config(), dir, recording.Options{})
	n.recorder.Mark(n.at, "a remark")
	n.ticks(12, .3)
	n.recorder.Close()
	whole, err := os.ReadFile(dir + "/00000001" + recording.Ext)
	if err != nil {
		f.Fatal(err)
	}
	return whole
}

// drain replays b; errors are expected, panics are not.
func drain(t *testing.T, b []byte) {
	for pair, err := range recording.Replay(recording.NewReader(bytes.NewReader(b)), nil) {
		if err == nil && pair.Replayed != nil && math.IsNaN(pair.Replayed.Avail) {
			t.Fatalf("report %+v", pair.Replayed)
		}
	}
}

// FuzzReader reads arbitrary bytes.
func FuzzReader(f *testing.F) {
	whole := small(f, 1)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("\x89SPZREC\n\x02\x00\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, b []byte) { drain(t, b) })
}

// FuzzRecords reads arbitrary payloads, each framed with its correct checksum; two bytes of length
// precede each.
func FuzzRecords(f *testing.F) {
	f.Add(payloads(small(f, 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := []byte("\x89SPZREC\n\x02\x00")
		for len(b) > 2 {
			n := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
			file = frame(file, b[2:2+n])
			b = b[2+n:]
		}
		drain(t, file)
	})
}

// frame appends a record in the format of the package documentation.
func frame(file, payload []byte) []byte {
	from := len(file)
	file = append(binary.AppendUvarint(file, uint64(len(payload))), payload...)
	return binary.LittleEndian.AppendUint32(file, crc32.Checksum(file[from:], crc32.MakeTable(crc32.Castagnoli)))
}

// payloads undoes frame, for every record of a file.
func payloads(file []byte) (b []byte) {
	for rest := file[10:]; len(rest) > 0; {
		n, head := binary.Uvarint(rest)
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = append(b, rest[head:head+int(n)]...)
		rest = rest[head+int(n)+4:]
	}
	return b
}
