package plugintest

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// glance is the interval at which a Room reads its Hub.
const glance = 50 * time.Millisecond

// Hub is the part of a *plugin.Hub that a Room reads. A goroutine of the Room calls it.
type Hub interface {
	Waiting() int
	Ledger() reserve.Census
	Snapshot() []plugin.NodeState
}

// Room measures how long pods wait while a node has room and neither changes. A scheduler with
// the plugin promises that this takes no longer than its slow retry. It is safe for concurrent
// use.
type Room struct {
	hub  Hub
	stop func()

	mu      sync.Mutex
	waiting int
	census  reserve.Census
	// idle is how long this has lasted, longest the longest time. An observation counts as at most its
	// interval: if the whole machine stood still, the scheduler is not at fault.
	idle, longest time.Duration
}

// WatchRoom starts to observe a Hub, until Stop is called.
func WatchRoom(hub Hub) *Room {
	r := &Room{hub: hub}
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		ticker := time.NewTicker(glance)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				r.look()
			}
		}
	})
	r.stop = sync.OnceFunc(func() {
		close(done)
		looking.Wait()
	})
	return r
}

func (r *Room) look() {
	waiting, census := r.hub.Waiting(), r.hub.Ledger()
	slots := 0
	for _, s := range r.hub.Snapshot() {
		slots += s.Slots
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if waiting > 0 && slots > 0 && waiting == r.waiting && census == r.census {
		r.idle += glance
	} else {
		r.idle = 0
	}
	r.longest = max(r.longest, r.idle)
	r.waiting, r.census = waiting, census
}

// Stop ends the watch and returns the longest time for which pods waited while a node
// had room. It may be called again.
func (r *Room) Stop() time.Duration {
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.longest
}

// Reservations checks every reservation against the rule as documented, independently of the
// plugin's code: a node takes a pod if it is not saturated, has one available beyond those in
// flight and those that room is held for, and slow start leaves a place. The zero value is ready.
// It is safe for concurrent use.
type Reservations struct {
	mu     sync.Mutex
	count  int
	on     map[string]int
	faults []string
}

// Observe is a plugin.HubOptions.OnReserve.
func (r *Reservations) Observe(node string, s reserve.Signal, f reserve.Flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.on == nil {
		r.on = map[string]int{}
	}
	r.on[node]++
	slowStart := max(max(s.Cores, leastStart)+float64(s.Pods)/2, s.Allowance)
	if s.Saturated || s.Avail-f.Demand-f.Held < 1 || f.Demand-f.Stalled-f.Late >= slowStart {
		r.faults = append(r.faults, fmt.Sprintf("%s: %+v with %+v", node, s, f))
	}
}

// leastStart is the number of pods that slow start admits on an empty node of any size.
const leastStart = 2

// Counts returns all reservations, and those on a node.
func (r *Reservations) Counts(node string) (all, there int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.on[node]
}

// Check fails the test for every wrong reservation, and for fewer than n.
func (r *Reservations) Check(t testing.TB, n int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		t.Errorf("reserved against the signal: %s", fault)
	}
	if r.count < n {
		t.Errorf("got %d reservations by a signal, want at least %d", r.count, n)
	}
}

// EmptyTemp gives the test a temporary directory of its own, and fails the test if anything is
// left there at its end.
func EmptyTemp(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}
