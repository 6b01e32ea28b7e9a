package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// StartScheduler runs a scheduler in this process until stop or the test's end.
// The zero Listen of the arguments stands for any port, the zero MaxAge for one
// that no report reaches on a machine which forgets a process for seconds.
func StartScheduler(t testing.TB, kubeconfig string, args plugin.SpazioArgs, o plugin.HubOptions) (hub *plugin.Hub, stop func()) {
	t.Helper()
	if args.Listen == "" {
		args.Listen = "127.0.0.1:0"
	}
	if args.MaxAge.Duration == 0 {
		args.MaxAge.Duration = Patience
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

// WaitFresh waits until the scheduler has heard of n nodes.
func WaitFresh(t testing.TB, hub *plugin.Hub, n int) {
	t.Helper()
	WaitSignals(t, hub, "fresh", n)
}

// WaitSignals waits until the signals of n nodes are fresh, stale or missing.
func WaitSignals(t testing.TB, hub *plugin.Hub, state string, n int) {
	t.Helper()
	Eventually(t, "signals "+state, func() (bool, any) {
		count := 0
		for _, s := range hub.Snapshot() {
			if s.Signal == state {
				count++
			}
		}
		return count == n, count
	})
}

// WaitEmpty waits until no pod of the API is left in the ledger. What only a
// report has listed it may remember for a minute.
func WaitEmpty(t testing.TB, hub *plugin.Hub) {
	t.Helper()
	Eventually(t, "ledger is empty", func() (bool, any) {
		inflight, census := 0., hub.Ledger()
		for _, s := range hub.Snapshot() {
			inflight += s.InFlight
		}
		census.Unclaimed = 0
		return inflight == 0 && census == reserve.Census{}, hub.Ledger()
	})
}

// Reservations judges every reservation by the rule as it is written down.
type Reservations struct {
	mu     sync.Mutex
	count  int
	on     map[string]int
	faults []string
}

// Counts returns all reservations, and those on a node.
func (r *Reservations) Counts(node string) (all, there int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.on[node]
}

// Observe is a HubOptions.OnReserve.
func (r *Reservations) Observe(node string, s reserve.Signal, f reserve.Flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.on == nil {
		r.on = map[string]int{}
	}
	r.on[node]++
	slowStart := max(s.Cores+float64(s.Pods)/2, s.Allowance) // nodes have more than two cores
	if s.Saturated || s.Avail-f.Demand < 1 || f.Demand-f.Stalled-f.Overdue >= slowStart {
		r.faults = append(r.faults, fmt.Sprintf("%s: %+v with %+v", node, s, f))
	}
}

// Check fails the test for every reservation that should not have been, and
// for fewer than n.
func (r *Reservations) Check(t testing.TB, n int) {
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

// CheckNothingLeft removes all pods and waits until the scheduler has forgotten
// them.
func CheckNothingLeft(t *testing.T, client kubernetes.Interface, hub *plugin.Hub) {
	t.Helper()
	RemovePods(t, client)
	WaitEmpty(t, hub)
	Eventually(t, "no pod waits", func() (bool, any) { return hub.Waiting() == 0, hub.Waiting() })
}
