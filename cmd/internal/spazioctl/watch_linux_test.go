package spazioctl_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/sim/report/live/livetest"
)

// programVariable makes the test binary act as the program spazio.
const programVariable = "SPAZIOCTL_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		command.Main(spazioctl.Main)
	}
	if into := os.Getenv(browserVariable); into != "" {
		os.Exit(look(os.Args[1], into))
	}
	os.Exit(m.Run())
}

// fleet is a scheduler of 5,000 nodes whose answers a test controls.
type fleet struct {
	mu    sync.Mutex
	nodes []plugin.NodeState
	away  bool
}

func newFleet() *fleet {
	f := &fleet{}
	for i := range 5000 {
		f.nodes = append(f.nodes, plugin.NodeState{
			Node: fmt.Sprintf("node-%04d", i), Signal: "fresh", Age: 300 * time.Millisecond, Avail: 10, Running: 12, Free: float64(5000-i) / 100, Slots: 5,
			K: 1.5, Limiting: "cpu", Reason: "admitted", Channels: []plugin.ChannelState{{Name: "cpu", Usage: .4, Capacity: .9, Cost: .05}},
		})
	}
	return f
}

func (f *fleet) edit(how func(f *fleet)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how(f)
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	var answer any = plugin.Status{Nodes: f.nodes}
	if name := r.FormValue("node"); name != "" {
		answer = plugin.NodeExplanation{
			NodeState: plugin.NodeState{Node: name, Signal: "fresh", Reason: "no room", Limiting: "cpu", Running: 30},
			Pods:      []plugin.NodePod{{Pod: "shop/cart-1", State: plugin.PodCounted, Profile: "spazio", Phase: "Running"}},
		}
	}
	_ = json.NewEncoder(w).Encode(answer) // the reader may have quit
}

// watched starts spazio top --watch on a terminal, and returns its former settings.
func watched(t *testing.T, f *fleet, width, height int) (x *livetest.Terminal, c *exec.Cmd, before unix.Termios) {
	t.Helper()
	x = livetest.NewTerminal(t, width, height)
	before = x.Settings()
	c = exec.Command(os.Args[0], "top", "--watch", "--interval=50ms", "--timeout=1m", "--sort=name", "--scheduler", serveOn(t, f))
	c.Env = append(os.Environ(), programVariable+"=1")
	x.Start(c)
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return x, c, before
}

// TestWatchKeepsItsPlace in a changing fleet, while a scheduler is unavailable, and restores the
// terminal.
func TestWatchKeepsItsPlace(t *testing.T) {
	f := newFleet()
	f.edit(func(f *fleet) { f.nodes[7].Node = "zevil\x1b[2J\x1b]0;x\a節点" }) // it is the last by name
	x, c, before := watched(t, f, 120, 24)
	x.Shows("from 1 of 5000 rows")
	x.Press("\x1b[F")
	x.Shows("zevil\ufffd[2J\ufffd]0;x\ufffd節点") // escaped at once, and nothing is cleared
	x.Press("\x1b[H" + strings.Repeat("\x1b[B", 4))
	x.Shows(">node-0004")
	// By free room, the least first: the selected row stays on its line, among others with as much.
	x.Press(strings.Repeat("\x1b[C", 6) + "r")
	x.Shows("FREE▲")
	x.Shows(">node-0004")
	f.edit(func(f *fleet) { f.nodes[4].Free = -1 })
	x.Until("the row at the top, still selected", func(d *livetest.Display) bool {
		for _, line := range d.Lines() {
			if strings.HasPrefix(line, ">") {
				return strings.HasPrefix(line, ">node-0004") && strings.Contains(line, "-1.0") && strings.Contains(d.Text(), "from 1 of")
			}
		}
		return false
	})
	f.edit(func(f *fleet) { f.away = true })
	x.Shows("no answer since")
	x.Shows(">node-0004") // the former rows stay
	x.Press("\x1b[B")
	x.Shows(">node-4996")
	f.edit(func(f *fleet) { f.away = false; f.nodes[4996].Free = -7 })
	x.Until("the answers again", func(d *livetest.Display) bool {
		return strings.Contains(d.Text(), "-7.0") && !strings.Contains(d.Text(), "no answer") && strings.Contains(d.Text(), ">node-4996")
	})
	x.Press("\r")
	x.Shows("It takes no pod: no room, cpu is shortest.")
	x.Shows("shop/cart-1  counted  Running  spazio")
	x.Press("\x1b")
	x.Shows(">node-4996")
	x.Press("/0123\r")
	x.Shows("from 1 of 1 row  with 0123")
	x.Resize(60, 10)
	x.Until("the new size", func(d *livetest.Display) bool {
		return len(d.Lines()) == 10 && strings.Contains(d.Text(), "node-0123") && strings.HasPrefix(d.Lines()[9], "*↑↓ row")
	})
	x.Press("q")
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	x.Until("the screen that was there", func(d *livetest.Display) bool { return !d.Alternate && !d.Hidden && d.Wraps })
	if after := x.Settings(); after != before {
		t.Errorf("got settings %v, want %v", after, before)
	}
}

// TestWatchEnds in each way, and restores the terminal.
func TestWatchEnds(t *testing.T) {
	f := newFleet()
	for name, end := range map[string]func(x *livetest.Terminal, c *exec.Cmd) error{
		"Ctrl-C":  func(x *livetest.Terminal, _ *exec.Cmd) error { x.Press("\x03"); return nil },
		"SIGTERM": func(_ *livetest.Terminal, c *exec.Cmd) error { return c.Process.Signal(syscall.SIGTERM) },
		"SIGINT":  func(_ *livetest.Terminal, c *exec.Cmd) error { return c.Process.Signal(os.Interrupt) },
	} {
		x, c, before := watched(t, f, 80, 24)
		x.Shows("of 5000 rows")
		if err := end(x, c); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		x.Until("the screen that was there", func(d *livetest.Display) bool { return !d.Alternate && !d.Hidden && d.Wraps })
		if after := x.Settings(); after != before {
			t.Errorf("%s: got settings %v, want %v", name, after, before)
		}
	}
	x, c, _ := watched(t, f, 80, 24)
	x.Shows("of 5000 rows")
	x.HangUp()
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != command.ExitFailure {
		t.Errorf("without its terminal: got %v", err)
	}
}

// TestWatchWritesChangesOnly: of 5,000 nodes only one changed and is visible.
func TestWatchWritesChangesOnly(t *testing.T) {
	f := newFleet()
	x, _, _ := watched(t, f, 120, 50)
	x.Shows("of 5000 rows")
	x.Shows("node-0040")
	f.edit(func(f *fleet) { f.nodes[40].Avail = 123.4 })
	x.Shows("123.4")
	if got := strings.Count(x.Sent(), "node-0041"); got != 1 {
		t.Errorf("got %d writes of an unchanged node", got)
	}
}
