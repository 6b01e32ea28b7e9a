package telemetry_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// opens counts the files opened in some directories, including the directories.
type opens int

func watchOpens(t *testing.T, dirs ...string) opens {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	for _, dir := range dirs {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	return opens(fd)
}

// count returns the number since the last call.
func (o opens) count(t *testing.T) (n int) {
	t.Helper()
	buffer := make([]byte, 64<<10)
	for {
		got, err := unix.Read(int(o), buffer)
		if err == unix.EAGAIN {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < got; n++ {
			at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buffer[at+12:])) // and the name
		}
	}
}

// readCalls returns how often this thread has read a file; known is false if the kernel does not
// count that.
func readCalls(t *testing.T) (n int, known bool) {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		return 0, false
	}
	var rchar, wchar int
	if _, err := fmt.Sscanf(string(text), "rchar: %d\nwchar: %d\nsyscr: %d", &rchar, &wchar, &n); err != nil {
		t.Fatal(err)
	}
	return n, true
}

// readsOf returns how many files f reads, without the counting's own reads. Some kernels count
// other threads' reads now and then: the least of several counts is the counting's own.
func readsOf(t *testing.T, f func()) (n int, counted bool) {
	t.Helper()
	own := math.MaxInt
	for range 5 {
		before, _ := readCalls(t)
		after, _ := readCalls(t)
		own = min(own, after-before)
	}
	before, _ := readCalls(t)
	f()
	after, counted := readCalls(t)
	return after - before - own, counted
}

// TestSteadyReadingCosts: a reading of known pods opens no file and lists no directory. It reads
// the peak of memory and the CPU time of each pod, and its pressure if there is one.
func TestSteadyReadingCosts(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, k := range usageTrees(t) {
		t.Run(name, func(t *testing.T) {
			k.t = t
			const pods = 3
			var dirs []string
			for i := range pods {
				uid := fmt.Sprintf("%08x", i)
				k.start(k.pod(uid), "", group{cpu: time.Second, memory: 1000})
				k.start(k.container(uid, idP), "pause", group{memory: 300})
				k.start(k.container(uid, idA), "server", group{memory: 700})
				for _, part := range k.parts {
					for _, dir := range []string{k.pod(uid), k.container(uid, idP), k.container(uid, idA)} {
						dirs = append(dirs, filepath.Join(k.root, part, k.tree, dir))
					}
				}
			}
			u := k.usage()
			read(t, u, start)
			read(t, u, start.Add(12*time.Second)) // no longer young
			opened := watchOpens(t, dirs...)
			files, counted := readsOf(t, func() {
				var dst telemetry.Usage
				if err := u.ReadTo(&dst, start.Add(24*time.Second)); err != nil || len(dst.Pods) != pods {
					t.Fatalf("%+v, %v", dst, err)
				}
			})
			if n := opened.count(t); n != 0 {
				t.Errorf("%d files or directories were opened", n)
			}
			each := 3
			if k.v1 && !k.unified {
				each = 2
			}
			if want := pods * each; counted && files != want {
				t.Errorf("%d files were read, want %d", files, want)
			}
		})
	}
}
