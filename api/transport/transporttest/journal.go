package transporttest

import (
	"context"
	"log/slog"
	"sync"
)

// Journal is a slog.Handler that counts log messages of any level. The zero value is ready to use, and
// safe for concurrent use.
type Journal struct {
	mu   sync.Mutex
	seen map[string]int
}

// Enabled implements slog.Handler.
func (*Journal) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler; records of the result count here.
func (j *Journal) WithAttrs([]slog.Attr) slog.Handler { return j }

// WithGroup implements slog.Handler, likewise.
func (j *Journal) WithGroup(string) slog.Handler { return j }

// Handle implements slog.Handler.
func (j *Journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.seen == nil {
		j.seen = map[string]int{}
	}
	j.seen[r.Message]++
	return nil
}

// Count returns how often a message was logged.
func (j *Journal) Count(message string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seen[message]
}

// Clear resets all counts.
func (j *Journal) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.seen)
}
