package transporttest_test

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// Each message counts separately, at any level, with any attributes and from any logger.
func TestJournal(t *testing.T) {
	var j transporttest.Journal
	log := slog.New(&j)
	var running sync.WaitGroup
	for range 4 {
		running.Add(1)
		go func() {
			defer running.Done()
			log.Debug("lost", "at", 1)
			log.With("of", "it").WithGroup("g").Error("lost")
			log.Info("found")
		}()
	}
	running.Wait()
	if lost, found, other := j.Count("lost"), j.Count("found"), j.Count("at"); lost != 8 || found != 4 || other != 0 {
		t.Errorf("%d, %d and %d", lost, found, other)
	}
	j.Clear()
	if n := j.Count("lost"); n != 0 {
		t.Errorf("got %d remaining messages", n)
	}
}
