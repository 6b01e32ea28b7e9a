package spazioctl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/plugin"
)

// pseudoTerminal returns both ends of a terminal of that size: what a program has, and what a person
// sees.
func pseudoTerminal(t *testing.T, width, height int) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { person.Close() })
	fd := int(person.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return program, person
}

// TestWatchDrawsInPlace: on a terminal the rows that fit are drawn over the former ones, also while the
// scheduler does not answer, and the cursor is back in the end.
func TestWatchDrawsInPlace(t *testing.T) {
	var away atomic.Bool
	scheduler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if away.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		var s plugin.Status
		for i := range 5000 {
			s.Nodes = append(s.Nodes, plugin.NodeState{Node: fmt.Sprintf("node-%04d\x1b[2J", i), Signal: "fresh"})
		}
		_ = json.NewEncoder(w).Encode(s) // the reader may have quit
	})
	program, person := pseudoTerminal(t, 100, 12)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	args := []string{"top", "--watch=10ms", "--timeout=1m", "--sort=name", "--url", serveOn(t, scheduler)}
	code := make(chan int, 1)
	go func() { code <- spazioctl.Main(ctx, args, program, program) }()

	sent := ""
	until := func(what string) {
		t.Helper()
		for p := make([]byte, 1<<16); !strings.Contains(sent, what); {
			n, err := person.Read(p)
			if err != nil {
				t.Fatalf("%v before %q in %q", err, what, sent)
			}
			sent += string(p[:n])
		}
	}
	until("\x1b[11A") // eleven lines are drawn, and the cursor goes back over them
	if !strings.Contains(sent, "node-0000\ufffd[2J") || strings.Contains(sent, "node-0011") || strings.Contains(sent, "\x1b[2J") {
		t.Errorf("a screen of 12 lines shows %q", sent)
	}
	away.Store(true)
	until("no answer: ")
	_, after, _ := strings.Cut(sent, "no answer: ")
	sent = after
	until("node-0000") // the former rows stay
	cancel()
	until("\x1b[?25h")
	if code := <-code; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestWatchEndsWithItsTerminal: what cannot be shown any more is not asked for again and again.
func TestWatchEndsWithItsTerminal(t *testing.T) {
	program, person := pseudoTerminal(t, 100, 12)
	args := []string{"top", "--watch=10ms", "--timeout=1m", "--url", answering(t, plugin.Status{})}
	code := make(chan int, 1)
	go func() { code <- spazioctl.Main(t.Context(), args, program, io.Discard) }()
	if _, err := person.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := person.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != command.ExitFailure {
		t.Errorf("exit code %d, want %d", got, command.ExitFailure)
	}
}
