package plugintest_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
	"github.com/spazio-scheduler/spazio/reserve"
)

func TestReservations(t *testing.T) {
	var r plugintest.Reservations
	observe := func(node string, s reserve.Signal, f reserve.Flight, fault bool) {
		t.Helper()
		before := len(r.Faults())
		r.Observe(node, s, f)
		if after := r.Faults(); (len(after) > before) != fault {
			t.Errorf("%+v with %+v: faults %q", s, f, after)
		}
	}
	observe("a", reserve.Signal{Avail: 1}, reserve.Flight{}, false)
	observe("a", reserve.Signal{Avail: 1.9}, reserve.Flight{Demand: 1}, true)
	observe("b", reserve.Signal{Avail: 9, Saturated: true}, reserve.Flight{}, true)
	observe("b", reserve.Signal{Avail: 9}, reserve.Flight{Held: 8}, false)
	observe("b", reserve.Signal{Avail: 9}, reserve.Flight{Held: 8.5}, true)
	observe("b", reserve.Signal{Avail: 9}, reserve.Flight{Demand: 2}, true)
	observe("b", reserve.Signal{Avail: 9, Pods: 2}, reserve.Flight{Demand: 2}, false)
	observe("b", reserve.Signal{Avail: 9, Cores: 4}, reserve.Flight{Demand: 3}, false)
	observe("b", reserve.Signal{Avail: 9, Cores: 4, Pods: 2}, reserve.Flight{Demand: 5}, true)
	observe("b", reserve.Signal{Avail: 9, Allowance: 5}, reserve.Flight{Demand: 4}, false)
	observe("b", reserve.Signal{Avail: 9}, reserve.Flight{Demand: 4, Stalled: 2, Late: 1}, false)
	if all, there := r.Counts("a"); all != 11 || there != 2 {
		t.Errorf("got %d reservations, %d on a, want 11 and 2", all, there)
	}
	if faults := r.Faults(); !strings.HasPrefix(faults[0], "a: ") {
		t.Errorf("got first fault %q", faults[0])
	}
}

// hub is a Hub of one node with room for so many pods.
type hub struct {
	sync.Mutex
	slots, waiting int
	census         reserve.Census
}

func (h *hub) set(slots, waiting, bound int) {
	h.Lock()
	defer h.Unlock()
	h.slots, h.waiting, h.census.Bound = slots, waiting, bound
}

func (h *hub) Waiting() int {
	h.Lock()
	defer h.Unlock()
	return h.waiting
}

func (h *hub) Ledger() reserve.Census {
	h.Lock()
	defer h.Unlock()
	return h.census
}

func (h *hub) Snapshot() []plugin.NodeState {
	h.Lock()
	defer h.Unlock()
	return []plugin.NodeState{{Node: "a", Slots: h.slots}, {Node: "full"}}
}

// TestRoom: the result is the longest time in which pods wait, a node has room and nothing happens.
func TestRoom(t *testing.T) {
	var _ plugintest.Hub = (*plugin.Hub)(nil)
	synctest.Test(t, func(t *testing.T) {
		h := &hub{}
		room := plugintest.WatchRoom(h)
		time.Sleep(time.Millisecond) // so that nothing changes during an observation
		for _, step := range []struct {
			slots, waiting, bound int
			lasts                 time.Duration
		}{
			{5, 0, 0, time.Hour},                           // no pod waits
			{0, 5, 0, time.Hour},                           // no room
			{1, 5, 0, 2 * time.Second},                     // this counts
			{1, 5, 1, time.Second}, {1, 4, 1, time.Second}, // something happened each time
			{0, 4, 1, time.Hour},
		} {
			h.set(step.slots, step.waiting, step.bound)
			time.Sleep(step.lasts)
		}
		if longest := room.Stop(); longest != 2*time.Second {
			t.Errorf("pods waited beside room for %v, want 2 s", longest)
		}
		if room.Stop() == 0 {
			t.Error("the result changed after a second stop")
		}
	})
}
