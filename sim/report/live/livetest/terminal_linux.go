package livetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is one of the kernel's pseudo terminals. It is safe for concurrent use.
type Terminal struct {
	t      testing.TB
	master *os.File
	// Slave is the end that a program has.
	Slave *os.File

	mu      sync.Mutex
	display *Display
	all     strings.Builder
	changed chan struct{}
	ended   chan struct{}
}

// NewTerminal returns one of that size, which is gone at the end of the test.
func NewTerminal(t testing.TB, width, height int) *Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	number := 0
	control(t, master, func(fd int) error {
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	})
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &Terminal{t: t, master: master, Slave: slave, display: NewDisplay(width, height), changed: make(chan struct{}, 1), ended: make(chan struct{})}
	x.Resize(width, height)
	go x.read()
	t.Cleanup(func() {
		x.Slave.Close()
		<-x.ended
		x.master.Close()
	})
	return x
}

// read ends when no process has the slave open.
func (x *Terminal) read() {
	defer close(x.ended)
	p := make([]byte, 64<<10)
	for {
		n, err := x.master.Read(p)
		x.mu.Lock()
		_, _ = x.display.Write(p[:n])
		x.all.Write(p[:n])
		x.mu.Unlock()
		select {
		case x.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Resize changes its size, and its programs get SIGWINCH.
func (x *Terminal) Resize(width, height int) {
	x.t.Helper()
	x.mu.Lock()
	x.display.Resize(width, height)
	x.mu.Unlock()
	control(x.t, x.master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
	})
}

// control does something to a file that stays one which a Close wakes the readers of.
func control(t testing.TB, f *os.File, do func(fd int) error) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if gone := raw.Control(func(fd uintptr) { err = do(int(fd)) }); gone != nil || err != nil {
		t.Fatal(gone, err)
	}
}

// Press sends keys.
func (x *Terminal) Press(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// Start starts a program whose terminal it is, of a session of its own.
func (x *Terminal) Start(c *exec.Cmd) {
	x.t.Helper()
	c.Stdin, c.Stdout, c.Stderr = x.Slave, x.Slave, x.Slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		x.t.Fatal(err)
	}
}

// HangUp takes the terminal away from its programs.
func (x *Terminal) HangUp() {
	x.Slave.Close()
	x.master.Close()
}

// Until waits until what is shown is as asked for, for as long as the test may take, and
// returns it.
func (x *Terminal) Until(what string, shows func(d *Display) bool) string {
	x.t.Helper()
	late := time.After(patience)
	for {
		x.mu.Lock()
		ok, shown := shows(x.display), x.display.Text()
		x.mu.Unlock()
		if ok {
			return shown
		}
		select {
		case <-x.changed:
		case <-late:
			x.t.Fatalf("waited in vain for %s:\n%s", what, shown)
		}
	}
}

// patience is how long is waited for what should be shown: no bound of anything that is
// tested, but so that a test that hangs says what it sees.
const patience = 2 * time.Minute

// Shows waits until a text is shown, and returns the screen.
func (x *Terminal) Shows(part string) string {
	x.t.Helper()
	return x.Until(fmt.Sprintf("%q", part), func(d *Display) bool { return strings.Contains(d.Text(), part) })
}

// Sent is all that was ever written to it.
func (x *Terminal) Sent() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.String()
}

// Settings are the terminal's, to compare.
func (x *Terminal) Settings() unix.Termios {
	x.t.Helper()
	s, err := unix.IoctlGetTermios(int(x.Slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *s
}
