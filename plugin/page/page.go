package page

import (
	"context"
	"net/http"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/web"
)

// Where the page is, and what web.RelayHandler answers.
const (
	Path       = plugin.DebugPath + "/page/"
	SourcePath = plugin.DebugPath + "/source"
)

// Page is a scheduler's page, and its Source for other programs. Safe for concurrent use.
type Page struct {
	source web.Source
	server *web.Server
}

// New makes the page of a Source. Its error is that of web.New.
func New(c web.Config) (*Page, error) {
	server, err := web.New(c)
	if err != nil {
		return nil, err
	}
	return &Page{c.Source, server}, nil
}

// Handlers are what a server of debug data has beside the Hub's own, by their patterns. The
// server's root leads to the page.
func (p *Page) Handlers() map[string]http.Handler {
	root := http.RedirectHandler(Path, http.StatusFound)
	return map[string]http.Handler{
		"GET /{$}":       root,
		Path:             http.StripPrefix(Path[:len(Path)-1], p.server),
		SourcePath + "/": web.RelayHandler(SourcePath, p.source),
	}
}

// Run makes the page's frames until ctx ends, which is no error.
func (p *Page) Run(ctx context.Context) error { return p.server.Run(ctx) }
