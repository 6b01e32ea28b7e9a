package bench_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

func TestMain(m *testing.M) {
	children.Init(map[string]children.Role{bench.ExecRole: bench.Exec})
	os.Exit(m.Run())
}

func newGroup(t *testing.T) *children.Group {
	t.Helper()
	g, err := children.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// shell starts a script.
func shell(t *testing.T, g *children.Group, script string) *children.Process {
	t.Helper()
	p, err := bench.Start(t.Context(), g, io.Discard, "/bin/sh", "", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// This process's usage is that of getrusage.
func TestFollow(t *testing.T) {
	own := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	spinning, stop := context.WithCancel(t.Context())
	go func() {
		for spinning.Err() == nil {
		}
	}()
	defer stop()
	before, began := own(), time.Now()
	used, err := bench.Follow(t.Context(), 1200*time.Millisecond, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	least, most := .9*(own()-before).Seconds()/time.Since(began).Seconds(), 1.1*(own()-before).Seconds()/1.2
	if c := used[0].Cores; c < least-.05 || c > most+.05 {
		t.Errorf("%v cores, between %v and %v by getrusage", c, least, most)
	}
	if u := used[0]; !(u.MeanMiB > 1 && u.MeanMiB <= u.MaxMiB && u.MaxMiB <= u.PeakMiB) {
		t.Errorf("%+v", u)
	}
}

func TestFollowRefuses(t *testing.T) {
	g := newGroup(t)
	p := shell(t, g, "exit 0")
	<-p.Done()
	if _, err := bench.Follow(t.Context(), time.Second, p.PID()); err == nil {
		t.Error("a process that has ended is followed")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bench.Follow(ended, time.Hour, os.Getpid()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// The error has the reason for which a program ended.
func TestStart(t *testing.T) {
	g := newGroup(t)
	p := shell(t, g, "echo no room >&2; exit 4")
	<-p.Done()
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "exit status 4: no room") {
		t.Errorf("error %v", err)
	}
}

func TestAwait(t *testing.T) {
	scrapes := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		scrapes++
		fmt.Fprintf(w, "seen %d\n", scrapes)
	}))
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")
	g := newGroup(t)
	p := shell(t, g, "read -r line; exit 0")
	if err := bench.Await(t.Context(), p, addr, func(m endpoint.Metrics) bool { return m["seen"] == 3 }); err != nil || scrapes != 3 {
		t.Errorf("%d scrapes, error %v", scrapes, err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bench.Await(t.Context(), p, addr, func(endpoint.Metrics) bool { return false }); !errors.Is(err, children.ErrEnded) {
		t.Errorf("error %v", err)
	}
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	var said bytes.Buffer
	if _, err := bench.Build(t.Context(), "", "spazio-nothing", t.TempDir(), &said); err == nil || !bytes.Contains(said.Bytes(), []byte("spazio-nothing")) {
		t.Errorf("error %v after %q", err, &said)
	}
}

// A test of bench alone also gets programs of the workspace.
func TestBuildLeavesTheModule(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	path, err := bench.Build(t.Context(), "", "spazio-aggregator", dir, io.Discard)
	if err != nil || path != filepath.Join(dir, "spazio-aggregator") {
		t.Errorf("%q, error %v", path, err)
	}
	if path, err := bench.Build(t.Context(), "elsewhere", "spazio-aggregator", dir, io.Discard); err != nil || path != "elsewhere" {
		t.Errorf("%q, error %v", path, err)
	}
}

func TestSleep(t *testing.T) {
	if err := bench.Sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := bench.Sleep(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
