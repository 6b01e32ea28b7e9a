package children_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// roleVariable makes the test binary act as another program.
const roleVariable = "SPAZIO_CHILDREN_TEST"

// The programs that the test binary acts as.
const (
	withoutInit = "without-init" // does not call Init
	asParent    = "parent"
)

// The test binary is its own child, and the parent of others that the tests kill.
func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == withoutInit {
		if _, err := children.NewGroup(); errors.Is(err, children.ErrNoInit) {
			os.Exit(0)
		}
		os.Exit(1)
	}
	children.Init(map[string]children.Role{"echo": echo, "fail": fail, "burn": burn, "unresponsive": unresponsive, "tidy": tidy})
	switch role {
	case "":
		os.Exit(m.Run())
	case asParent:
		parent()
	}
	os.Exit(2) // or a role that no one knows would run these tests again, and they their children, without end
}

// echo prints its CPUs, then its input.
func echo(_ context.Context, args []string, in io.Reader, out io.Writer) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	fmt.Fprintln(out, set.Count(), os.Getenv("TMPDIR"), strings.Join(args, " "))
	_, err := io.Copy(out, in)
	return err
}

func fail(context.Context, []string, io.Reader, io.Writer) error { return errors.New("no such luck") }

// burn uses the given milliseconds of CPU time, then waits.
func burn(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	ms, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			return err
		}
		if (u.Utime.Nano()+u.Stime.Nano())/1e6 >= int64(ms) {
			break
		}
	}
	fmt.Fprintln(out, "burnt")
	<-ctx.Done()
	return nil
}

// unresponsive ignores the end of its input and signals.
func unresponsive(_ context.Context, _ []string, _ io.Reader, out io.Writer) error {
	fmt.Fprintln(out, "here")
	select {}
}

// tidy has work left when it is asked to end in both ways.
func tidy(ctx context.Context, _ []string, in io.Reader, out io.Writer) error {
	fmt.Fprintln(out, "here")
	<-ctx.Done()
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond)
	fmt.Fprintln(out, "tidied up")
	return nil
}

// parent starts unresponsive children, prints their directory, and waits to be killed.
func parent() {
	group, err := children.NewGroup()
	if err == nil {
		for range 3 {
			var p *children.Process
			if p, err = group.Start(children.Spec{Role: "unresponsive"}); err == nil {
				_, err = p.Line(context.Background())
			}
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(group.Dir())
	select {}
}

func start(t *testing.T, g *children.Group, s children.Spec) *children.Process {
	t.Helper()
	p, err := g.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func line(t *testing.T, p *children.Process) string {
	t.Helper()
	l, err := p.Line(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNewGroupWantsInit(t *testing.T) {
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), roleVariable+"="+withoutInit)
	if out, err := program.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A child has its arguments, directory and CPUs, and exchanges lines with the parent.
func TestChild(t *testing.T) {
	g := newGroup(t)
	cpus, err := children.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	pinned := start(t, g, children.Spec{Role: "echo", Args: []string{"a", "b c"}, CPUs: cpus[len(cpus)-1:]})
	if got, want := line(t, pinned), "1 "+g.Dir()+" a b c"; got != want {
		t.Errorf("child with one CPU: got %q, want %q", got, want)
	}
	free := start(t, g, children.Spec{Role: "echo"})
	if got, want := line(t, free), fmt.Sprintf("%d %s ", len(cpus), g.Dir()); got != want {
		t.Errorf("next child: got %q, want %q", got, want)
	}
	fmt.Fprintln(free, "hello")
	if got := line(t, free); got != "hello" {
		t.Errorf("got answer %q", got)
	}
	if err := free.Stop(t.Context()); err != nil {
		t.Errorf("got error %v at its end", err)
	}
	if _, err := free.Line(t.Context()); !errors.Is(err, children.ErrEnded) {
		t.Errorf("line after its end: got error %v", err)
	}
}

// The error has the reason of a child's failure.
func TestChildFails(t *testing.T) {
	p := start(t, newGroup(t), children.Spec{Role: "fail"})
	_, err := p.Line(t.Context())
	if !errors.Is(err, children.ErrEnded) || !strings.Contains(err.Error(), "fail: exit status 1: fail: no such luck") {
		t.Errorf("error %v", err)
	}
	if p.Err() == nil {
		t.Error("Err is nil")
	}
}

// The CPU time is the child's own, while it runs and afterwards.
func TestCPU(t *testing.T) {
	p := start(t, newGroup(t), children.Spec{Role: "burn", Args: []string{"300"}})
	line(t, p)
	const most = 20 * time.Second // the test binary's own usage
	if got := p.CPU(); got < 300*time.Millisecond || got > most {
		t.Errorf("got %v of CPU time, want at least 300 ms", got)
	}
	p.Kill()
	<-p.Done()
	if got := p.CPU(); got < 290*time.Millisecond || got > most { // the kernel counts ticks there
		t.Errorf("got %v of CPU time after its end, want at least 300 ms", got)
	}
}

// A child that ignores everything is killed, and its directory removed.
func TestCloseLeavesNothing(t *testing.T) {
	g := newGroup(t)
	p := start(t, g, children.Spec{Role: "unresponsive"})
	line(t, p)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child still runs: %v", err)
	}
	if _, err := os.Stat(g.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory still exists: %v", err)
	}
	if _, err := g.Start(children.Spec{Role: "echo"}); !errors.Is(err, children.ErrClosed) {
		t.Errorf("start after Close: got error %v", err)
	}
}

// TestStopWaitsForCleanup: the signal that follows the end of its input does not kill a child that
// cleans up.
func TestStopWaitsForCleanup(t *testing.T) {
	p := start(t, newGroup(t), children.Spec{Role: "tidy"})
	line(t, p)
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := line(t, p); got != "tidied up" {
		t.Errorf("%q", got)
	}
}

func TestStopKillsUnresponsiveChildren(t *testing.T) {
	p := start(t, newGroup(t), children.Spec{Role: "unresponsive"})
	line(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	// Init turns SIGTERM into the end of the context, which unresponsive ignores.
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	<-p.Done()
}

// Nothing outlives a killed parent: neither children nor directory.
func TestParentKilled(t *testing.T) {
	temp := t.TempDir()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), roleVariable+"="+asParent, "TMPDIR="+temp)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	output, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(output)); err != nil {
		t.Fatalf("its directory: got %v", err)
	}
	if n := len(runningIn(t, temp)); n != 5 { // itself, the keeper and three more
		t.Fatalf("got %d processes, want five", n)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait() // returns that it was killed
	for {
		entries, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 && len(runningIn(t, temp)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// runningIn returns the processes whose TMPDIR is the directory, or one below it.
func runningIn(t *testing.T, temp string) (pids []string) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if environment, err := os.ReadFile(p); err == nil && strings.Contains(string(environment), "TMPDIR="+temp) {
			pids = append(pids, filepath.Base(filepath.Dir(p)))
		}
	}
	return pids
}

// newGroup returns a group with files in the test's directory, closed at its end.
func newGroup(t *testing.T) *children.Group {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	g, err := children.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
