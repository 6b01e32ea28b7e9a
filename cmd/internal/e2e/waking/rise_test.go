package waking

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
)

// Without waking, a pod without room would wait for minutes: more room is no event of the API.
func TestRisesBindPendingPods(t *testing.T) {
	r := newRiser(t)
	r.refill(t, 3*nodeCount)
	for round := range 2 {
		for _, n := range r.nodes {
			r.raise(n, round+1)
			r.wait(t, 1)
		}
	}
	for _, n := range r.nodes {
		r.raise(n, 3)
	}
	r.wait(t, nodeCount)
	for node, pods := range r.log.Bindings().PerNode("waiting-") {
		if pods != 3 {
			t.Errorf("node %s had room 3 times, got %d pods", node, pods)
		}
	}
}

// The benchmark measures the time from a node's report of a free place to the watch event of the pod
// bound to it.
func BenchmarkRiseToBound(b *testing.B) {
	const each = 5 * nodeCount
	for _, rises := range []struct {
		name  string
		nodes int
	}{{"rises=1", 1}, {"rises=20", nodeCount}} {
		b.Run(rises.name, func(b *testing.B) {
			r := newRiser(b)
			var latencies []time.Duration
			places, next := 5, nodeCount // as after the last of the pods
			for b.Loop() {
				b.StopTimer()
				if places == 5 && next == nodeCount {
					r.empty(b)
					r.refill(b, each)
					places, next = 1, 0
				}
				if next == nodeCount {
					places, next = places+1, 0
				}
				b.StartTimer()
				for range rises.nodes {
					r.raise(r.nodes[next], places)
					next++
				}
				latencies = append(latencies, r.wait(b, rises.nodes)...)
			}
			reportQuantiles(b, latencies)
		})
	}
}

func reportQuantiles(b *testing.B, latencies []time.Duration) {
	slices.Sort(latencies)
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50-ms", .5}, {"p99-ms", .99}, {"max-ms", 1}} {
		at := latencies[int(q.q*float64(len(latencies)-1))]
		b.ReportMetric(at.Seconds()*1e3, q.name)
	}
}

// riser has full nodes and pods that wait for them, and measures the time from a node's report of room
// to the binding.
type riser struct {
	client  kubernetes.Interface
	hub     *plugin.Hub
	nodes   []*cluster.PlaceNode
	log     *cluster.Log
	refills int
	rises   map[string]time.Time // the last of each node
	bound   map[types.UID]bool   // pods that were timed
}

func newRiser(t testing.TB) *riser {
	t.Helper()
	client, kubeconfig := cluster.Connect(t)
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{})
	nodes := cluster.NewPlaceNodes(t, client, nodeCount, 0, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", nodeCount)
	return &riser{
		client: client, hub: hub, nodes: nodes, log: cluster.Watch(t, client),
		rises: map[string]time.Time{}, bound: map[types.UID]bool{},
	}
}

// refill submits pods and waits until all of them have been refused.
func (r *riser) refill(t testing.TB, pods int) {
	t.Helper()
	r.refills++
	cluster.Submit(t, r.client, cluster.Batch{Prefix: fmt.Sprintf("waiting-%d", r.refills), Pods: pods, Work: time.Hour})
	cluster.Eventually(t, "all pods wait", func() (bool, any) { return r.hub.Waiting() == pods, r.hub.Waiting() })
}

// empty removes all pods and places.
func (r *riser) empty(t testing.TB) {
	t.Helper()
	for _, n := range r.nodes {
		n.Set(0, false)
	}
	cluster.Remove(t, r.client)
	cluster.WaitEmpty(t, r.hub)
	cluster.Eventually(t, "all places are gone", func() (bool, any) {
		slots, pods := 0, 0
		for _, s := range r.hub.Snapshot() {
			slots, pods = slots+s.Slots, pods+s.Running
		}
		return slots == 0 && pods == 0, slots
	})
}

func (r *riser) raise(n *cluster.PlaceNode, places int) { r.rises[n.Name()] = n.Set(places, false) }

// wait waits for n more bindings and returns their latencies.
func (r *riser) wait(t testing.TB, n int) (latencies []time.Duration) {
	t.Helper()
	r.log.WaitBound(t, len(r.bound)+n)
	for uid, b := range r.log.Bindings() {
		if !r.bound[uid] {
			r.bound[uid] = true
			latencies = append(latencies, b.At.Sub(r.rises[b.Node]))
		}
	}
	return latencies
}
