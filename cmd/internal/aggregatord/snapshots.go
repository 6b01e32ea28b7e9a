package aggregatord

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
)

// snapshots keeps the state in a file. One goroutine saves; stats is safe for
// concurrent use.
type snapshots struct {
	path     string
	interval time.Duration
	models   *modelserver.Server
	logger   *slog.Logger

	mu            sync.Mutex
	saved, failed uint64
	size          int64
	last          time.Time
}

// snapshotInterval loses a killed process no more than nodes push again anyway
// (every 10 s at the latest).
const snapshotInterval = 10 * time.Second

// restore takes in the file, if there is one. What can't be used is left where
// it is until the first save.
func (s *snapshots) restore() {
	s.last = time.Now()
	snapshot, err := modelserver.LoadSnapshot(s.path)
	if errors.Is(err, os.ErrNotExist) {
		s.logger.Info("no snapshot yet; starting without", "path", s.path)
		return
	}
	if err != nil {
		s.logger.Error("the snapshot can't be used; starting without", "path", s.path, "error", err)
		return
	}
	nodes, err := s.models.Restore(snapshot)
	if err != nil {
		s.logger.Warn("not all of the snapshot could be used", "path", s.path, "error", err)
	}
	s.logger.Info("restored the snapshot", "path", s.path, "nodes", nodes, "written", snapshot.Written)
}

func (s *snapshots) run(ctx context.Context) error {
	interval := s.interval
	if interval == 0 {
		interval = snapshotInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.save()
		}
	}
}

// save is not fatal when it fails: the service does without.
func (s *snapshots) save() {
	size, err := modelserver.SaveSnapshot(s.path, s.models.Snapshot())
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed++
		s.logger.Error("the snapshot was not saved", "path", s.path, "error", err)
		return
	}
	s.saved++
	s.size, s.last = size, time.Now()
}

func (s *snapshots) stats() (saved, failed uint64, size int64, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved, s.failed, s.size, time.Since(s.last)
}
