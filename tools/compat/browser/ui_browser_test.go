package browser

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/network"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/ui"
)

// tab is a page of the interface.
type tab struct {
	*Tab
	url string
}

// open starts a browser with a tab of this size, for pages of the server at the address.
func open(t testing.TB, address string, width, height int64) tab {
	t.Helper()
	return tab{Open(t, address, width, height), address}
}

// visit opens a page by its path below /ui/.
func (b tab) visit(path string) {
	b.T.Helper()
	b.Visit("/ui/" + path)
}

// login gives the browser the session of the login form.
func (b tab) login(token string) {
	b.T.Helper()
	yes := true
	Call(b.Tab, network.SetCookie, network.SetCookieParams{
		Name: "spazio-session", Value: token, URL: b.url, HTTPOnly: &yes, SameSite: network.CookieSameSiteStrict,
	})
}

// eval returns the result of a script.
func eval[T any](b tab, script string) T {
	b.T.Helper()
	return Eval[T](b.Tab, script)
}

// withUI enables the server's pages.
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
