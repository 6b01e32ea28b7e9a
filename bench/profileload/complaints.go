package main

import (
	"context"
	"log/slog"
	"sync"
)

// complaints counts what agents log: that the profiler is away, or refuses them. Safe for
// concurrent use.
type complaints struct {
	mu    sync.Mutex
	count int
	last  string // the error of the last one
}

var _ slog.Handler = (*complaints)(nil)

// Enabled is for warnings and errors.
func (*complaints) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle counts a line.
func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.last = r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			c.last += ": " + a.Value.String()
		}
		return true
	})
	return nil
}

// WithAttrs passes over whose line it is.
func (c *complaints) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup does the same.
func (c *complaints) WithGroup(string) slog.Handler { return c }

// heard returns how many there were, and the last.
func (c *complaints) heard() (count int, last string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count, c.last
}
