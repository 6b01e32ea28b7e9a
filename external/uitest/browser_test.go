package uitest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
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

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/ui"
)

var browser = flag.String("browser", "", "Chromium's program; empty looks for chromium and google-chrome on the path")

// ages are how long anything may take, whatever else the machine does.
const ages = 2 * time.Minute

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

// tab is a page of a browser of its own, and what it did behind the scenes.
type tab struct {
	t   testing.TB
	ctx context.Context
	url string

	mu      sync.Mutex
	console []string
	foreign []string
}

// open starts a browser with a tab of that size, for pages of the server at the address.
func open(t testing.TB, address string, width, height int64) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program(t)),
		chromedp.Flag("window-size", fmt.Sprintf("%d,%d", width, height)), chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(ages))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); end(); stop() })
	b := &tab{t: t, ctx: ctx, url: address}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, cdplog.Enable, cdp.Empty{})
	b.do(chromedp.EmulateViewport(width, height))
	return b
}

// hear notes what the console says and where requests go.
func (b *tab) hear(event any) {
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
		b.goes(e.Request.URL)
	case *network.EventWebSocketCreated:
		b.goes(e.URL)
	}
}

func (b *tab) goes(to string) {
	u, err := url.Parse(to)
	own, _ := url.Parse(b.url)
	if err == nil && (u.Host == own.Host || u.Scheme == "data" || u.Scheme == "about") {
		return
	}
	b.foreign = append(b.foreign, to)
}

// fail ends the test if there is an error, with what the console said.
func (b *tab) fail(err error) {
	b.t.Helper()
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Fatalf("%v; console: %q", err, b.console)
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.fail(chromedp.Do(b.ctx, actions...))
}

// call sends a command of the protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	answer, err := chromedp.Call(b.ctx, command, params)
	b.fail(err)
	return answer
}

// visit opens a page, by its path behind /ui/.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url + ui.Base + path))
}

// eval returns what a script comes to.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	b.fail(err)
	return value
}

// until waits for a script to come to true, over pages that are left meanwhile.
func (b *tab) until(condition string) {
	b.t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if err == nil && is {
			return
		}
		if time.Since(begun) > ages {
			b.t.Logf("%s\n%s", eval[string](b, `location.href`), eval[string](b, `document.querySelector("main").innerText + document.querySelector("#freshness")?.textContent + "\nThe focus is on " + document.activeElement.outerHTML.slice(0, 300)`))
			b.fail(fmt.Errorf("%s did not come true: %v", condition, err))
		}
	}
}

// press presses keys, one after another.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// login gives the browser the session that the login form would.
func (b *tab) login(token string) {
	b.t.Helper()
	yes := true
	call(b, network.SetCookie, network.SetCookieParams{
		Name: "spazio-session", Value: token, URL: b.url, HTTPOnly: &yes, SameSite: network.CookieSameSiteStrict,
	})
}

// likes sets what the person prefers: the scheme, and no motion.
func (b *tab) likes(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// hold fails the test if the tab has said anything on the console, but what is expected, or
// asked another origin.
func (b *tab) hold(expected ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
said:
	for _, line := range b.console {
		for _, e := range expected {
			if strings.Contains(line, e) {
				continue said
			}
		}
		b.t.Errorf("console: %s", line)
	}
	for _, to := range b.foreign {
		b.t.Errorf("a request went to %s", to)
	}
}

// withUI lets a server have the pages.
func withUI(c *server.Config) {
	c.UI = func(api http.Handler) http.Handler {
		return ui.Handler(ui.Config{API: api, Logger: slog.New(slog.DiscardHandler)})
	}
	c.Limits.Rate, c.Limits.Burst = 1e4, 1e4
}

// serve starts a server with the scene.
func serve(t testing.TB) *servertest.Bench {
	t.Helper()
	b := servertest.Start(t, withUI)
	stage(b.Store)
	return b
}
