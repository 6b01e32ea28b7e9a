package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// startScheduler runs a scheduler in this process until stop or the test's end.
func startScheduler(t *testing.T, kubeconfig, listen string, o plugin.HubOptions) (hub *plugin.Hub, stop func()) {
	t.Helper()
	s, err := schedulerd.New(t.Context(), schedulerd.Options{
		Kubeconfig: kubeconfig, Args: plugin.SpazioArgs{Listen: listen}, Hub: plugin.NewHub(o),
	})
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
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return s.Hub(), stop
}

// waitFresh waits until the scheduler has heard of n nodes.
func waitFresh(t *testing.T, hub *plugin.Hub, n int) {
	t.Helper()
	eventually(t, "signals of all nodes", func() (bool, any) {
		fresh := 0
		for _, s := range hub.Snapshot() {
			if s.Signal == "fresh" {
				fresh++
			}
		}
		return fresh == n, fresh
	})
}

// waitEmpty waits until no pod is left in the ledger.
func waitEmpty(t *testing.T, hub *plugin.Hub) {
	t.Helper()
	eventually(t, "ledger is empty", func() (bool, any) {
		inflight := 0.
		for _, s := range hub.Snapshot() {
			inflight += s.InFlight
		}
		return inflight == 0 && hub.Ledger() == reserve.Census{}, hub.Ledger()
	})
}

// reservations judges every reservation by the rule as it is written down.
type reservations struct {
	mu     sync.Mutex
	count  int
	on     map[string]int
	faults []string
}

func (r *reservations) observe(node string, s reserve.Signal, inflight float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.on == nil {
		r.on = map[string]int{}
	}
	r.on[node]++
	slowStart := max(2+float64(s.Pods)/2, s.Allowance)
	if s.Saturated || s.Avail-inflight < 1 || inflight >= slowStart {
		r.faults = append(r.faults, fmt.Sprintf("%s: %+v with %v in flight", node, s, inflight))
	}
}

// check fails the test for every reservation that should not have been, and
// for fewer than n.
func (r *reservations) check(t *testing.T, n int) {
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
	hub, _ := startScheduler(t, kubeconfig, "127.0.0.1:0", plugin.HubOptions{OnReserve: seen.observe})
	nodes := newPlaceNodes(t, client, nodeCount, places, hub.Addr().String())
	full := nodes[0]
	full.set(places, true)
	waitFresh(t, hub, nodeCount)

	log := watchPods(t, client)
	begin := time.Now()
	submit(t, client, "batch", podCount, 50*time.Millisecond, time.Second)
	log.waitSucceeded(t, podCount)
	t.Logf("%d pods of 1.05 s through %d places in %v", podCount, (nodeCount-1)*places, time.Since(begin))

	seen.check(t, podCount)
	for _, n := range nodes {
		if most := n.mostHeld(); most > places {
			t.Errorf("node %s held %d pods at once, has %d places", n.name, most, places)
		}
	}
	if most := full.mostHeld(); most > 0 || seen.on[full.name] > 0 {
		t.Errorf("the saturated node %s was given %d pods", full.name, most)
	}
	waitEmpty(t, hub)
}

func TestRestartedSchedulerKeepsToTheSignal(t *testing.T) {
	client, kubeconfig := cluster(t)
	var seen reservations
	options := plugin.HubOptions{OnReserve: seen.observe}
	hub, stop := startScheduler(t, kubeconfig, "127.0.0.1:0", options)
	address := hub.Addr().String()
	nodes := newPlaceNodes(t, client, nodeCount, places, address)
	waitFresh(t, hub, nodeCount)

	log := watchPods(t, client)
	// A start-up of a second keeps dozens of bound pods out of the reports while
	// the scheduler changes.
	submit(t, client, "batch", podCount, time.Second, 500*time.Millisecond)
	eventually(t, "a quarter is bound", func() (bool, any) {
		bound, _ := log.counts()
		return bound >= podCount/4, bound
	})
	stop()
	hub, _ = startScheduler(t, kubeconfig, address, options)
	log.waitSucceeded(t, podCount)

	seen.check(t, podCount)
	for _, n := range nodes {
		if most := n.mostHeld(); most > places {
			t.Errorf("node %s held %d pods at once, has %d places", n.name, most, places)
		}
	}
	waitEmpty(t, hub)
}

// The bound of a second is what was promised to those whose pods wait; without
// waking they would wait for minutes.
func TestPendingPodIsBoundWithinASecondOfARise(t *testing.T) {
	client, kubeconfig := cluster(t)
	hub, _ := startScheduler(t, kubeconfig, "127.0.0.1:0", plugin.HubOptions{})
	nodes := newPlaceNodes(t, client, nodeCount, 0, hub.Addr().String())
	waitFresh(t, hub, nodeCount)
	log := watchPods(t, client)
	const rounds = 3
	pods := (rounds + 1) * nodeCount
	submit(t, client, "waiting", pods, 0, time.Hour)
	eventually(t, "all pods wait", func() (bool, any) { return hub.Waiting() == pods, hub.Waiting() })

	r := riser{log: log, rises: map[string]time.Time{}, bound: map[types.UID]bool{}}
	var latencies []time.Duration
	for round := range rounds {
		for _, n := range nodes {
			r.rises[n.name] = n.set(round+1, false)
			latencies = append(latencies, r.wait(t, 1)...)
		}
	}
	logLatencies(t, "one rise at a time", latencies)

	for _, n := range nodes {
		r.rises[n.name] = n.set(rounds+1, false)
	}
	logLatencies(t, fmt.Sprintf("%d rises at once", nodeCount), r.wait(t, nodeCount))
}

// riser times bindings from the rise of their nodes.
type riser struct {
	log   *podLog
	rises map[string]time.Time // the last of each node
	bound map[types.UID]bool   // pods that were timed
}

// wait waits for n more bindings and returns their latencies.
func (r *riser) wait(t *testing.T, n int) (latencies []time.Duration) {
	t.Helper()
	want := len(r.bound) + n
	eventually(t, fmt.Sprintf("%d pods are bound", want), func() (bool, any) {
		bound, _ := r.log.counts()
		return bound == want, bound
	})
	for uid, b := range r.log.bindings() {
		if !r.bound[uid] {
			r.bound[uid] = true
			latencies = append(latencies, b.at.Sub(r.rises[b.node]))
		}
	}
	return latencies
}

func logLatencies(t *testing.T, what string, latencies []time.Duration) {
	t.Helper()
	slices.Sort(latencies)
	quantile := func(q float64) time.Duration { return latencies[int(q*float64(len(latencies)-1))] }
	t.Logf("rise to bound, %s: n = %d, p50 %v, p90 %v, p99 %v, max %v", what, len(latencies),
		quantile(.5), quantile(.9), quantile(.99), quantile(1))
	if slowest := quantile(1); slowest > time.Second {
		t.Errorf("a pending pod was bound %v after the rise", slowest)
	}
}
