package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// startScheduler runs a scheduler in this process until stop or the test's end.
// The zero Listen of the arguments stands for any port, the zero MaxAge for one
// that no report reaches on a machine which forgets a process for seconds.
func startScheduler(t testing.TB, kubeconfig string, args plugin.SpazioArgs, o plugin.HubOptions) (hub *plugin.Hub, stop func()) {
	t.Helper()
	if args.Listen == "" {
		args.Listen = "127.0.0.1:0"
	}
	if args.MaxAge.Duration == 0 {
		args.MaxAge.Duration = patience
	}
	s, err := schedulerd.New(t.Context(), schedulerd.Options{Kubeconfig: kubeconfig, Args: args, Hub: plugin.NewHub(o)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("scheduler: %v", err)
		}
	})
	judge := watchRoom(t, s.Hub())
	stop = sync.OnceFunc(func() {
		judge()
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return s.Hub(), stop
}

// waitFresh waits until the scheduler has heard of n nodes.
func waitFresh(t testing.TB, hub *plugin.Hub, n int) {
	t.Helper()
	waitSignals(t, hub, "fresh", n)
}

// waitSignals waits until the signals of n nodes are fresh, stale or missing.
func waitSignals(t testing.TB, hub *plugin.Hub, state string, n int) {
	t.Helper()
	eventually(t, "signals "+state, func() (bool, any) {
		count := 0
		for _, s := range hub.Snapshot() {
			if s.Signal == state {
				count++
			}
		}
		return count == n, count
	})
}

// waitEmpty waits until no pod of the API is left in the ledger. What only a
// report has listed it may remember for a minute.
func waitEmpty(t testing.TB, hub *plugin.Hub) {
	t.Helper()
	eventually(t, "ledger is empty", func() (bool, any) {
		inflight, census := 0., hub.Ledger()
		for _, s := range hub.Snapshot() {
			inflight += s.InFlight
		}
		census.Unclaimed = 0
		return inflight == 0 && census == reserve.Census{}, hub.Ledger()
	})
}

// reservations judges every reservation by the rule as it is written down.
type reservations struct {
	mu     sync.Mutex
	count  int
	on     map[string]int
	faults []string
}

// counts returns all reservations, and those on a node.
func (r *reservations) counts(node string) (all, there int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.on[node]
}

func (r *reservations) observe(node string, s reserve.Signal, f reserve.Flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.on == nil {
		r.on = map[string]int{}
	}
	r.on[node]++
	slowStart := max(2+float64(s.Pods)/2, s.Allowance)
	if s.Saturated || s.Avail-f.Demand < 1 || f.Demand-f.Stalled-f.Overdue >= slowStart {
		r.faults = append(r.faults, fmt.Sprintf("%s: %+v with %+v", node, s, f))
	}
}

// check fails the test for every reservation that should not have been, and
// for fewer than n.
func (r *reservations) check(t testing.TB, n int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		t.Errorf("reserved against the signal: %s", fault)
	}
	if r.count < n {
		t.Errorf("%d reservations were made on a signal, want at least %d", r.count, n)
	}
}

const (
	nodeCount = 20
	places    = 4
	podCount  = 200
)

func TestReservationsKeepToTheSignal(t *testing.T) {
	client, kubeconfig := cluster(t)
	var seen reservations
	hub, _ := startScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.observe})
	nodes := newPlaceNodes(t, client, nodeCount, places, hub.Addr().String())
	full := nodes[0]
	full.set(places, true)
	waitFresh(t, hub, nodeCount)

	log := watchPods(t, client)
	begin := time.Now()
	submit(t, client, batch{prefix: "batch", pods: podCount, startup: 50 * time.Millisecond, work: time.Second})
	log.waitSucceeded(t, podCount)
	t.Logf("%d pods of 1.05 s through %d places in %v", podCount, (nodeCount-1)*places, time.Since(begin))

	seen.check(t, podCount)
	checkHeld(t, nodes)
	_, reserved := seen.counts(full.name)
	if most := full.mostHeld(); most > 0 || reserved > 0 {
		t.Errorf("the saturated node %s was given %d pods", full.name, most)
	}
	waitEmpty(t, hub)
}

func TestRestartedSchedulerKeepsToTheSignal(t *testing.T) {
	client, kubeconfig := cluster(t)
	var seen reservations
	options := plugin.HubOptions{OnReserve: seen.observe}
	hub, stop := startScheduler(t, kubeconfig, plugin.SpazioArgs{}, options)
	address := hub.Addr().String()
	nodes := newPlaceNodes(t, client, nodeCount, places, address)
	waitFresh(t, hub, nodeCount)

	log := watchPods(t, client)
	// A start-up of a second keeps dozens of bound pods out of the reports while
	// the scheduler changes.
	submit(t, client, batch{prefix: "batch", pods: podCount, startup: time.Second, work: 500 * time.Millisecond})
	eventually(t, "a quarter is bound", func() (bool, any) {
		bound, _ := log.counts()
		return bound >= podCount/4, bound
	})
	stop()
	hub, _ = startScheduler(t, kubeconfig, plugin.SpazioArgs{Listen: address}, options)
	log.waitSucceeded(t, podCount)

	seen.check(t, podCount)
	checkHeld(t, nodes)
	waitEmpty(t, hub)
}
