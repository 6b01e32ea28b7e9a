package recording_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent/recording"
)

// TestFullDiskLeavesWholeRecords lets the disk accept only part of a batch: the partial record is cut
// off again, so that the file ends with a whole one. The size limit applies to all files of a process,
// those of go test included, so a process of its own sets it.
func TestFullDiskLeavesWholeRecords(t *testing.T) {
	const child = "SPAZIO_TEST_FULL_DISK"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDiskLeavesWholeRecords$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		output, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(output, []byte("--- PASS: TestFullDiskLeavesWholeRecords")) {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	dir := t.TempDir()
	n := newNode(t, 11, config(), dir, recording.Options{FileSize: 1 << 20}.WithFlush(time.Millisecond))
	defer limitFiles(t, 12_345)()
	until := func(what string, reached func(recording.Stats) bool) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for !reached(n.recorder.Stats()) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %+v after a minute", what, n.recorder.Stats())
			}
			n.ticks(20, .1)
			time.Sleep(time.Millisecond)
		}
	}
	until("a loss", func(s recording.Stats) bool { return s.Lost > 0 && s.Files > 2 })
	n.close()
	if o := replay(t, dir, nil); o.pairs == 0 || o.different != 0 || len(o.torn) != 0 {
		t.Errorf("replay: %+v", o)
	}
	for _, path := range files(t, dir) {
		if info, err := os.Stat(path); err != nil || info.Size() > 12_345 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

// limitFiles makes writes beyond the size fail, after the part that fits, until the returned function
// is called.
func limitFiles(t *testing.T, size uint64) (lift func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	}
}
