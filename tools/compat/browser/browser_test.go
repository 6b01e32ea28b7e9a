package browser

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var browser = flag.String("browser", "", "Chromium's program; empty looks for chromium and google-chrome on the path")

// patience is how long anything may take, whatever else the machine does.
const patience = 2 * time.Minute

// program is Chromium's, or the test is skipped by name.
func program(t testing.TB) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if *browser != "" {
		names = []string{*browser}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("SKIPPED: no Chromium on this machine")
	return ""
}

// Tab is a page of a browser of its own, and what it did behind the scenes. Its methods are for
// the test's goroutine; where something goes wrong they end the test.
type Tab struct {
	T   testing.TB
	ctx context.Context
	url string

	mu      sync.Mutex
	console []string
	foreign []string
}

// Open starts a browser with a tab of that size, for pages of the server at the address.
func Open(t testing.TB, address string, width, height int64) *Tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program(t)),
		chromedp.Flag("window-size", fmt.Sprintf("%d,%d", width, height)), chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); end(); stop() })
	b := &Tab{T: t, ctx: ctx, url: address}
	if err := chromedp.Listen(ctx, b.record); err != nil {
		t.Fatal(err)
	}
	Call(b, network.Enable, network.EnableParams{})
	Call(b, cdplog.Enable, cdp.Empty{})
	b.Do(chromedp.EmulateViewport(width, height))
	return b
}

// record keeps what the console prints and where requests go.
func (b *Tab) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		b.console = append(b.console, string(e.Type)+": "+strings.Join(words, " "))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		b.console = append(b.console, text)
	case *cdplog.EventEntryAdded:
		b.console = append(b.console, string(e.Entry.Source)+": "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		b.request(e.Request.URL)
	case *network.EventWebSocketCreated:
		b.request(e.URL)
	}
}

func (b *Tab) request(to string) {
	u, err := url.Parse(to)
	own, _ := url.Parse(b.url)
	if err == nil && (u.Host == own.Host || u.Scheme == "data" || u.Scheme == "about") {
		return
	}
	b.foreign = append(b.foreign, to)
}

// Context is that of the browser, for chromedp's functions.
func (b *Tab) Context() context.Context { return b.ctx }

// Fail ends the test if there is an error, with what the console said.
func (b *Tab) Fail(err error) {
	b.T.Helper()
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.T.Fatalf("%v; console: %q", err, b.console)
}

// Do carries out actions, one after another.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	b.Fail(chromedp.Do(b.ctx, actions...))
}

// Call sends a command of the protocol.
func Call[P, R any](b *Tab, command cdp.Command[P, R], params P) R {
	b.T.Helper()
	answer, err := chromedp.Call(b.ctx, command, params)
	b.Fail(err)
	return answer
}

// Visit opens a page of the server, by its path.
func (b *Tab) Visit(path string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(b.url + path))
}

// Eval returns what a script comes to.
func Eval[T any](b *Tab, script string) T {
	b.T.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	b.Fail(err)
	return value
}

// Script runs a script for what it does.
func (b *Tab) Script(script string) {
	b.T.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](script + "; undefined"))
}

// Until waits for a script to come to true, over pages that are left meanwhile.
func (b *Tab) Until(condition string) {
	b.T.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if err == nil && is {
			return
		}
		if time.Since(begun) > patience {
			b.T.Logf("%s", Eval[string](b, `location.href + "\n" + document.body.innerText + "\nThe focus is on " + document.activeElement.outerHTML.slice(0, 300)`))
			b.Fail(fmt.Errorf("%s did not come true: %v", condition, err))
		}
	}
}

// Likes sets what the person prefers: the scheme, light or dark, and no motion.
func (b *Tab) Likes(scheme string) {
	b.T.Helper()
	Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// Hold fails the test if the console has lines other than the expected ones, or the tab has
// requested another origin.
func (b *Tab) Hold(expected ...string) {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
said:
	for _, line := range b.console {
		for _, e := range expected {
			if strings.Contains(line, e) {
				continue said
			}
		}
		b.T.Errorf("console: %s", line)
	}
	for _, to := range b.foreign {
		b.T.Errorf("a request went to %s", to)
	}
}
