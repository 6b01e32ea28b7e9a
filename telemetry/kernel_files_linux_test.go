package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// A speed that the kernel takes long to return delays no sample: the former value holds meanwhile.
// A pipe without a writer is such a file.
func TestSpeedIsReadAside(t *testing.T) {
	m, c := networkMachine(t)
	c.MaxInterval = time.Minute
	r := m.reader(c)
	m.prime(r, start)
	speed := m.linkFile("eth0", "speed")
	m.remove(speed)
	if err := unix.Mkfifo(speed, 0o600); err != nil {
		t.Fatal(err)
	}
	m.write(m.linkFile("eth0", "carrier_changes"), "4\n")
	at, moved := start, uint64(5000)
	for range 5 {
		at, moved = at.Add(time.Second), moved+10*tenth
		m.moved("eth0", moved, 5000)
		m.idle(at)
		if got := m.sample(r, at)[2]; !cmp.Equal(.1, got, near) {
			t.Errorf("%v of the speed before, want .1", got)
		}
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if got := strings.Count(string(stacks), "telemetry.readSpeed"); got != 1 {
		t.Errorf("%d reads under way, want 1", got)
	}
	m.answer(speed, "10000\n")
	for deadline := time.Now().Add(time.Minute); r.Sizes()[2] != 1.25e9; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("sizes %v, want 10 Gbit/s", r.Sizes())
		}
		at = at.Add(time.Second)
		m.idle(at)
		_, err := r.SampleTo(nil, at)
		if err != nil && !errors.Is(err, telemetry.ErrResized) {
			t.Fatal(err)
		}
	}
	m.moved("eth0", moved+10*tenth, 5000)
	if got := m.sample(r, at.Add(100*time.Millisecond))[2]; !cmp.Equal(.1, got, near) {
		t.Errorf("%v of 10 Gbit/s, want .1", got)
	}

	// Close waits for the read that is under way.
	m.write(m.linkFile("eth0", "carrier_changes"), "6\n")
	m.idle(at.Add(time.Second))
	m.sample(r, at.Add(time.Second))
	closed := make(chan error, 1)
	go func() { closed <- r.Close() }()
	m.answer(speed, "1000\n")
	if err := <-closed; err != nil {
		t.Error(err)
	}
	stacks = stacks[:cap(stacks)]
	if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("telemetry.readSpeed")) {
		t.Errorf("a read outlives Close:\n%s", stacks)
	}
}

// answer writes to a pipe that another goroutine reads.
func (m *machine) answer(pipe, text string) {
	m.t.Helper()
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		m.t.Error(err)
	}
}

// blocked starts a process that waits for its input until the test ends or end is
// called, for the files that the kernel keeps of it.
func blocked(t *testing.T) (proc string, end func()) {
	t.Helper()
	c := exec.Command("cat")
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		input.Close()
		_ = c.Wait() // the second time it says only that
	}
	t.Cleanup(end)
	// Once it has echoed a byte it has started, and waits.
	if _, err = input.Write([]byte{'x'}); err == nil {
		_, err = io.ReadFull(output, make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/proc/%d", c.Process.Pid), end
}

// The kernel returns some files page by page, so that a read returns only a part. The memory map of
// a process takes several reads.
func TestFilesOfManyPages(t *testing.T) {
	proc, _ := blocked(t)
	path := filepath.Join(proc, "smaps")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 3*os.Getpagesize() {
		t.Fatalf("%s has %d bytes: too few to tell", path, len(want))
	}
	got, err := telemetry.ReadKernelFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The resident part of memory may change; the mappings do not.
	mappings := func(text []byte) int { return bytes.Count(text, []byte("VmFlags:")) }
	if mappings(got) != mappings(want) {
		t.Errorf("%d bytes of %d mappings, want %d of %d", len(got), mappings(got), len(want), mappings(want))
	}
}

// A file that fails once is reopened: the file of an ended process stands for one that the kernel
// replaces, as a cgroup's when it is mounted again.
func TestReopenAfterError(t *testing.T) {
	proc, end := blocked(t)
	m := newMachine(t)
	m.cpuacct("cpuacct", 0)
	usage := filepath.Join(m.root, "cpuacct", "cpuacct.usage")
	m.remove(usage)
	if err := os.Symlink(filepath.Join(proc, "oom_score_adj"), usage); err != nil {
		t.Fatal(err)
	}
	c := m.config()
	c.Counter = telemetry.CounterCpuacct
	r := m.reader(c)
	m.prime(r, start)
	m.sample(r, start.Add(period))
	end()
	for i := range 2 { // the first fails to read, the second to open
		var channel *telemetry.ChannelError
		_, err := r.SampleTo(nil, start.Add(time.Duration(2+i)*period))
		if !errors.As(err, &channel) || channel.Path != usage {
			t.Fatalf("err = %v, want of %s", err, usage)
		}
	}
	m.remove(usage)
	m.cpuacct("cpuacct", 1e9)
	m.sample(r, start.Add(4*period))
	m.cpuacct("cpuacct", 1e9+4e8/2) // half of four CPUs for a tenth of a second
	m.stat(4, 20, 20)
	if got := m.sample(r, start.Add(5*period))[0]; got < .2 || got > .6 {
		t.Errorf("cpu = %v", got)
	}
}
