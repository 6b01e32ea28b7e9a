package spazioctl_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

// named is a scheduler's Source whose answers name the scheduler.
type named string

func (n named) State(context.Context) (web.State, error) {
	return web.State{Nodes: []web.Node{{Name: "worker"}}}, nil
}

func (n named) Node(context.Context, string) (web.Explanation, error) {
	return web.Explanation{Lines: []string{"known to " + string(n)}}, nil
}

func (n named) Pod(context.Context, string, string) (web.Timeline, error) {
	return web.Timeline{}, web.ErrUnknownPod
}

// shownPage is a spazio web that runs until the test's end.
type shownPage struct {
	t       *testing.T
	address string
	output  chan string // its further output lines
	stop    context.CancelFunc
	code    chan int
}

// startWeb returns once the page's address is printed.
func startWeb(t *testing.T, args ...string) *shownPage {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &shownPage{t: t, output: make(chan string, 10), stop: cancel, code: make(chan int, 1)}
	reader, writer := io.Pipe()
	var errs strings.Builder
	go func() {
		p.code <- spazioctl.Main(ctx, append([]string{"web"}, args...), writer, &errs)
		writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	if !lines.Scan() {
		t.Fatalf("no address: got exit code %d, stderr %q", <-p.code, errs.String())
	}
	p.address = lines.Text()
	go func() {
		for lines.Scan() {
			p.output <- lines.Text()
		}
	}()
	t.Cleanup(cancel)
	return p
}

// get returns the answer for a path below the page's address.
func (p *shownPage) get(path string) (int, string) {
	p.t.Helper()
	response, err := http.Get(p.address + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestWebFollowsTheLeader: this program serves the page itself, with the data of the scheduler that
// leads at the time of each request.
func TestWebFollowsTheLeader(t *testing.T) {
	mux := http.NewServeMux()
	for _, name := range []string{"scheduler-a", "scheduler-b"} {
		url := serveOn(t, web.RelayHandler(page.SourcePath, named(name)))
		podforwardtest.Forward(t, mux, "spazio-system", name, 9694, strings.TrimPrefix(url, "http://"))
	}
	var leader atomic.Pointer[string]
	leads := func(name string) { leader.Store(&name) }
	led(t, mux, "spazio-system", func() string { return *leader.Load() })
	leads("scheduler-a_1")
	p := startWeb(t, "--kubeconfig="+transporttest.Kubeconfig(t, serveOn(t, mux), "shop"))
	if code, text := p.get(""); code != http.StatusOK || !strings.Contains(text, "<html") {
		t.Errorf("page: got %d %.200s", code, text)
	}
	for _, want := range []string{"scheduler-a", "scheduler-b", "scheduler-a"} {
		leads(want + "_2")
		if code, text := p.get("node?name=worker"); code != http.StatusOK || !strings.Contains(text, "known to "+want) {
			t.Errorf("while %s leads: %d %s", want, code, text)
		}
	}
	leads("")
	if code, text := p.get("node?name=worker"); code < 500 {
		t.Errorf("without a leader: got %d %s", code, text)
	}
	leads("scheduler-b_3")
	if code, text := p.get("node?name=worker"); code != http.StatusOK || !strings.Contains(text, "scheduler-b") {
		t.Errorf("with a new leader: got %d %s", code, text)
	}
	if code, text := p.get("pod?namespace=a&name=b"); code != http.StatusNotFound {
		t.Errorf("missing pod: got %d %s", code, text)
	}
	p.stop()
	if code := <-p.code; code != command.ExitOK {
		t.Errorf("interrupted: got exit code %d", code)
	}
}

// TestWebRefuses what cannot work, at once.
func TestWebRefuses(t *testing.T) {
	url := serveOn(t, web.RelayHandler(page.SourcePath, named("it")))
	busy := strings.TrimPrefix(url, "http://")
	older := serveOn(t, debug(t, ""))
	for name, test := range map[string]struct {
		args     []string
		code     int
		wantText string
	}{
		"beyond loopback": {[]string{"--url", url, "--listen=0.0.0.0:0"}, command.ExitUsage, "--listen"},
		"a busy port":     {[]string{"--url", url, "--listen=" + busy}, command.ExitFailure, "--listen"},
		"an older one":    {[]string{"--url", older}, command.ExitFailure, "older version"},
		"no listener":     {[]string{"--url=http://127.0.0.1:1"}, command.ExitFailure, "ask 127.0.0.1:1"},
		"an argument":     {[]string{"x"}, command.ExitUsage, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			code, out, errs := run(ctx, append([]string{"web"}, test.args...)...)
			if code != test.code || !strings.Contains(errs, test.wantText) || out != "" {
				t.Errorf("got exit code %d, stdout %q, stderr %q", code, out, fmt.Sprint(errs))
			}
		})
	}
}
