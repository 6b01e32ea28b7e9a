package cluster

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/reserve"
)

// glance is how often roomWatch looks.
const glance = 50 * time.Millisecond

// roomWatch looks for pods that wait while a node has room, with nothing
// happening to either.
type roomWatch struct {
	hub     *plugin.Hub
	waiting int
	census  reserve.Census
	// idle is how long this has gone on, longest the most it ever did. A glance
	// counts as no more than its interval, for when the whole machine stands
	// still nobody waits for the scheduler.
	idle, longest time.Duration
}

func (w *roomWatch) look() {
	waiting, census := w.hub.Waiting(), w.hub.Ledger()
	slots := 0
	for _, s := range w.hub.Snapshot() {
		slots += s.Slots
	}
	if waiting > 0 && slots > 0 && waiting == w.waiting && census == w.census {
		w.idle += glance
	} else {
		w.idle = 0
	}
	w.longest = max(w.longest, w.idle)
	w.waiting, w.census = waiting, census
}

// watchRoom holds a scheduler to its promise until judge is called: no pod waits
// for longer than the slow retry while a node has room.
func watchRoom(t testing.TB, hub *plugin.Hub) (judge func()) {
	w := &roomWatch{hub: hub}
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	looking.Go(func() {
		ticker := time.NewTicker(glance)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				w.look()
			}
		}
	})
	return func() {
		cancel()
		looking.Wait()
		if w.longest == 0 {
			return
		}
		t.Logf("pods waited for at most %v while a node had room", w.longest)
		if w.longest > config.DefaultRetryPeriod {
			t.Errorf("pods waited for %v while a node had room, more than the slow retry of %v", w.longest, config.DefaultRetryPeriod)
		}
	}
}
