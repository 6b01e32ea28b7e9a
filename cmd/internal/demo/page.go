package demo

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

// runs are those of the act under way. Safe for concurrent use.
type runs struct {
	mu           sync.Mutex
	all          []profileRun
	inconclusive atomic.Bool // the machine was too slow to compare them
}

type profileRun struct {
	profile string
	batch   *batchRun
}

func (r *runs) add(profile string, b *batchRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, profileRun{profile, b})
}

// reset begins another act.
func (r *runs) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
	r.inconclusive.Store(false)
}

// show returns them as the page shows them, by the times that the result is made of.
func (r *runs) show() (shown []web.Run) {
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	for _, run := range all {
		records := run.batch.snapshot()
		courses := make([]page.Course, len(records))
		for i, p := range records {
			courses[i] = page.Course{Created: p.Created, Bound: p.Bound, Running: p.Running, Done: p.Done, Failed: p.Failed}
		}
		shown = append(shown, page.Sum(run.profile, len(records), courses))
	}
	return shown
}

// serve shows, from now on, what is asked of the scheduler: the page, and what spazio top,
// explain and web ask.
func (c *cluster) serve(ctx context.Context, d *demo) error {
	p, err := page.New(web.Config{
		Source: page.NewSource(c.hub, page.Options{
			Title: c.config.String(), Virtual: c.clock.Virtual, Runs: func() ([]web.Run, bool) { return c.runs.show(), !c.runs.inconclusive.Load() },
		}),
		Logger: slog.New(slog.DiscardHandler), // the page says what is wrong itself
	})
	if err != nil {
		return err
	}
	handlers := p.Handlers()
	for pattern, handler := range c.targets.Handlers() {
		handlers[pattern] = handler
	}
	handlers[plugin.DebugPath] = c.hub.Handler()
	addr := d.options.Web
	if addr == "" {
		addr = loopback
	}
	server, err := endpoint.NewDebug(ctx, endpoint.Config{Addr: addr, Gatherer: legacyregistry.DefaultGatherer, Handlers: handlers})
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	c.address = "http://" + server.Addr().String()
	d.services.Start("page", p.Run)
	d.services.Start("debug server", server.Run)
	if d.options.Web != "" {
		d.screen.Printf("the page: %s/", c.address)
	}
	return nil
}
