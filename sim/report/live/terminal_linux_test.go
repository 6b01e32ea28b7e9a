package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/report/live/livetest"
	"golang.org/x/sys/unix"
)

// childVariable makes the test act as the program that shows a changing fleet.
const childVariable = "LIVE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
	}
	os.Exit(m.Run())
}

// child exits with 0 when the reader quits, 7 when the terminal is gone.
func child() {
	t, ok := Open(os.Stdin, os.Stdout)
	if !ok {
		os.Exit(2)
	}
	var asked atomic.Int64
	err := t.Run(context.Background(), Config{
		Period: 5 * time.Millisecond,
		Ask: func(context.Context) (Frame, error) {
			n := asked.Add(1)
			return fleet(fmt.Sprint(n), "1", "2", "3", "4", "5"), nil
		},
		Detail: func(_ context.Context, sheet int, row string) (string, error) {
			return fmt.Sprintf("detail of %d %s", sheet, row), nil
		},
	})
	if errors.Is(err, errLost) {
		os.Exit(7)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("over")
	os.Exit(0)
}

func start(t *testing.T, x *livetest.Terminal) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"=1")
	x.Start(c)
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// TestTerminal presses keys on a real terminal, which is restored afterwards.
func TestTerminal(t *testing.T) {
	x := livetest.NewTerminal(t, 60, 8)
	before := x.Settings()
	c := start(t, x)
	x.Shows("from 1 of 6 rows")
	x.Press("jj\x1b[B\x1b[B\x1b[B")
	x.Shows(">n4")
	x.Press("\r")
	x.Shows("detail of 0 n4")
	x.Press("\x1b")
	x.Shows(">n4")
	x.Press("/n5\r")
	x.Shows("1 of 1 row  with n5")
	x.Press("\x1b")
	x.Until("all rows", func(d *livetest.Display) bool { return strings.Contains(d.Text(), "of 6 rows") })
	x.Resize(80, 5)
	x.Until("the new size", func(d *livetest.Display) bool { return strings.HasPrefix(d.Lines()[4], "*↑↓ row   Enter detail") })
	x.Press("\x0c")
	x.Press("q")
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	shown := x.Shows("over")
	x.Until("the screen that was there", func(d *livetest.Display) bool { return !d.Alternate && !d.Hidden && d.Wraps && len(d.Unknown) == 0 })
	if after := x.Settings(); after != before {
		t.Errorf("settings were %v, are %v", before, after)
	}
	if strings.Contains(shown, "n4") {
		t.Errorf("what was shown is left:\n%s", shown)
	}
}

// TestStops: the program stops and continues where it was, on a terminal that others have used
// meanwhile.
func TestStops(t *testing.T) {
	x := livetest.NewTerminal(t, 60, 12)
	before := x.Settings()
	c := start(t, x)
	x.Shows("from 1 of 6 rows")
	x.Press("jjj")
	x.Shows(">n2")
	// As a shell does: the process is stopped, and continued on a screen that was used.
	if err := c.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for stopped := false; !stopped; {
		var status unix.WaitStatus
		if _, err := unix.Wait4(c.Process.Pid, &status, unix.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
		stopped = status.Stopped()
	}
	fmt.Fprint(x.Slave, "\x1b[?1049l\x1b[?25hwhat another wrote\r\n")
	x.Shows("what another wrote")
	if err := c.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	x.Until("the view again", func(d *livetest.Display) bool {
		return d.Alternate && d.Hidden && strings.Contains(d.Text(), ">n2") && !strings.Contains(d.Text(), "another")
	})
	x.Press("\x03")
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if after := x.Settings(); after != before {
		t.Errorf("settings were %v, are %v", before, after)
	}
}

// TestSuspended is Ctrl-Z below a shell, which gets the terminal restored, and hands it back.
func TestSuspended(t *testing.T) {
	x := livetest.NewTerminal(t, 60, 12)
	before := x.Settings()
	c := exec.Command("/bin/sh", "-c", `set -m; "$0"; echo the shell again; read line; fg`, os.Args[0])
	c.Env = append(os.Environ(), childVariable+"=1")
	x.Start(c)
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	x.Shows("from 1 of 6 rows")
	x.Press("jjj")
	x.Shows(">n2")
	x.Press("\x1a")
	x.Until("the shell", func(d *livetest.Display) bool {
		return !d.Alternate && !d.Hidden && d.Wraps && strings.Contains(d.Text(), "the shell again")
	})
	if stopped := x.Settings(); stopped != before {
		t.Errorf("settings were %v, are %v while it is stopped", before, stopped)
	}
	x.Press("\n")
	x.Until("the view again", func(d *livetest.Display) bool { return d.Alternate && d.Hidden && strings.Contains(d.Text(), ">n2") })
	x.Press("q")
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if after := x.Settings(); after != before {
		t.Errorf("settings were %v, are %v", before, after)
	}
}

// TestGoesOn: a session's first process is not stopped, because nothing could continue it.
func TestGoesOn(t *testing.T) {
	x := livetest.NewTerminal(t, 60, 12)
	c := start(t, x)
	x.Shows("from 1 of 6 rows")
	x.Press("j\x1aj")
	x.Shows(">n1")
	x.Press("q")
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestLost: the program ends when the terminal is gone.
func TestLost(t *testing.T) {
	x := livetest.NewTerminal(t, 60, 8)
	c := start(t, x)
	x.Shows("from 1 of 6 rows")
	x.HangUp()
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended by %v", err)
	}
}

// TestDeaf: a terminal that cannot be drawn on is restored, too.
func TestDeaf(t *testing.T) {
	x := livetest.NewTerminal(t, 60, 8)
	before := x.Settings()
	out, err := os.OpenFile(x.Slave.Name(), os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	shown, ok := Open(x.Slave, out)
	if !ok {
		t.Fatal("no terminal")
	}
	err = shown.Run(t.Context(), Config{Ask: func(context.Context) (Frame, error) { return fleet("1"), nil }})
	if !errors.Is(err, errLost) {
		t.Errorf("ended by %v", err)
	}
	if after := x.Settings(); after != before {
		t.Errorf("settings were %v, are %v", before, after)
	}
}

// TestContext: the program ends with its context, and returns the terminal to the process that has
// it.
func TestContext(t *testing.T) {
	x := livetest.NewTerminal(t, 60, 8)
	before := x.Settings()
	shown, ok := Open(x.Slave, x.Slave)
	if !ok {
		t.Fatal("no terminal")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- shown.Run(ctx, Config{Ask: func(context.Context) (Frame, error) { return fleet("1"), nil }})
	}()
	x.Shows("from 1 of 1 row")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if after := x.Settings(); after != before {
		t.Errorf("settings were %v, are %v", before, after)
	}
	for name, c := range map[string]Config{"Ask": {}, "Period": {Period: -1, Ask: func(context.Context) (Frame, error) { return Frame{}, nil }}} {
		var bad *field.Error
		if err := shown.Run(t.Context(), c); !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := Open(strings.NewReader(""), x.Slave); ok {
		t.Error("a reader is a terminal")
	}
	if _, ok := Open(x.Slave, new(strings.Builder)); ok {
		t.Error("a builder is a terminal")
	}
}
