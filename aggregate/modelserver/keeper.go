package modelserver

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
)

// KeeperConfig says where a Keeper keeps a server's state.
type KeeperConfig struct {
	// Path is the file; a process must be the only one that saves to it.
	Path string
	// Interval is the time between two snapshots, default 10 s: a process that is
	// killed loses no more than its nodes push again anyway.
	Interval time.Duration
	// Logger hears of what could not be read or saved, which is not fatal: the
	// server does without. Nil logs nothing.
	Logger *slog.Logger
}

// Validate returns an *field.Error for the first field out of range.
func (c KeeperConfig) Validate() error {
	switch {
	case c.Path == "":
		return &field.Error{Package: "aggregate", Field: "Path", Value: c.Path, Err: aggregate.ErrRange}
	case c.Interval < 0:
		return &field.Error{Package: "aggregate", Field: "Interval", Value: c.Interval, Err: aggregate.ErrRange}
	}
	return nil
}

const defaultKeepInterval = 10 * time.Second

// Keeper keeps a server's state in a file across restarts. Restore, Run and Save
// are called one after the other, Stats is safe for concurrent use with them.
type Keeper struct {
	config KeeperConfig
	server *Server

	mu    sync.Mutex
	stats KeeperStats
	last  time.Time
}

// KeeperStats counts snapshots by how saving them ended.
type KeeperStats struct {
	Saved, Failed uint64
	// Size is that of the last in bytes, Age the time since it, or since NewKeeper.
	Size int64
	Age  time.Duration
}

// NewKeeper returns a Keeper of the server's state.
func NewKeeper(s *Server, c KeeperConfig) (*Keeper, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Interval == 0 {
		c.Interval = defaultKeepInterval
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Keeper{config: c, server: s, last: time.Now()}, nil
}

// Restore takes in the file, if there is one, before the server runs. What can't be
// used is left where it is until the first save.
func (k *Keeper) Restore() {
	logger := k.config.Logger.With("path", k.config.Path)
	snapshot, err := LoadSnapshot(k.config.Path)
	if errors.Is(err, os.ErrNotExist) {
		logger.Info("no snapshot yet; starting without")
		return
	}
	if err != nil {
		logger.Error("the snapshot can't be used; starting without", "error", err)
		return
	}
	nodes, err := k.server.Restore(snapshot)
	if err != nil {
		logger.Warn("not all of the snapshot could be used", "error", err)
	}
	logger.Info("restored the snapshot", "nodes", nodes, "written", snapshot.Written)
}

// Run saves at every interval until ctx ends, which is no error. The last pushes
// are saved by a Save after the server has ended.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(k.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			k.Save()
		}
	}
}

// Save saves a snapshot; one that fails is counted and logged.
func (k *Keeper) Save() {
	size, err := SaveSnapshot(k.config.Path, k.server.Snapshot())
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.stats.Failed++
		k.config.Logger.Error("the snapshot was not saved", "path", k.config.Path, "error", err)
		return
	}
	k.stats.Saved++
	k.stats.Size, k.last = size, time.Now()
}

// Stats returns what became of the snapshots so far.
func (k *Keeper) Stats() KeeperStats {
	k.mu.Lock()
	defer k.mu.Unlock()
	stats := k.stats
	stats.Age = time.Since(k.last)
	return stats
}
