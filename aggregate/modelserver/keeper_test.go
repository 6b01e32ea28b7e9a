package modelserver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/field"
)

func keeper(t *testing.T, s *modelserver.Server, path string) (k *modelserver.Keeper, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	k, err := modelserver.NewKeeper(s, modelserver.KeeperConfig{Path: path, Interval: time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return k, log
}

// TestKeeper: a server restores the nodes of its predecessor, including pushes after the last interval;
// a damaged file, or one of another version, is logged, kept aside, and replaced by the next save.
func TestKeeper(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	first := start(t, modelserver.Config{Tick: time.Millisecond})
	k, log := keeper(t, first, path)
	if k.Restore(); !strings.Contains(log.String(), "no snapshot yet") {
		t.Errorf("first start: got log %q", log)
	}
	push(t, first, local("a", 0, 2))
	until(t, first, func(stats modelserver.Stats) bool { return stats.Nodes == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	for {
		if _, err := os.Stat(path); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	push(t, first, local("b", 1, 1))
	until(t, first, func(stats modelserver.Stats) bool { return stats.Nodes == 2 })
	began := time.Now()
	k.Save()
	if age := k.Age(); age < 0 || age > time.Since(began) {
		t.Errorf("saved %v ago", age)
	}

	second, err := modelserver.New(modelserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	k, log = keeper(t, second, path)
	k.Restore()
	if n := len(second.Snapshot().Entries); n != 2 || !strings.Contains(log.String(), "nodes=2") {
		t.Errorf("after a restart: got %d nodes and log %q", n, log)
	}

	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := bytes.Clone(good)
	next[7]++ // the format's version
	for what, raw := range map[string][]byte{"damaged": []byte("no snapshot"), "the next version's": next} {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		third, err := modelserver.New(modelserver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		k, log = keeper(t, third, path)
		if k.Restore(); !strings.Contains(log.String(), "can't be used; starting without") || len(third.Snapshot().Entries) != 0 {
			t.Errorf("%s snapshot: got log %q", what, log)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, raw) {
			t.Errorf("%s snapshot was not kept: %v", what, err)
		}
		k.Save()
		if _, err := modelserver.LoadSnapshot(path); err != nil {
			t.Error(err)
		}
	}
}

func TestKeeperFails(t *testing.T) {
	s, err := modelserver.New(modelserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	k, log := keeper(t, s, filepath.Join(t.TempDir(), "no such directory", "state"))
	began := time.Now()
	k.Save()
	since := time.Since(began)
	if age := k.Age(); age < since || !strings.Contains(log.String(), "was not saved") {
		t.Errorf("saved %v ago, log %q", age, log)
	}
	for name, c := range map[string]modelserver.KeeperConfig{"Path": {}, "Interval": {Path: "x", Interval: -1}} {
		var bad *field.Error
		if _, err := modelserver.NewKeeper(s, c); !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
