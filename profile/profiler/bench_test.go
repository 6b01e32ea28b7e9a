package profiler_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// BenchmarkFleet takes a window of each pod in turn, with its consequences: 10,000 workloads of 15
// pods on 5,000 nodes. B/fleet is the final memory.
func BenchmarkFleet(b *testing.B) {
	const nodes, workloads, pods = 5_000, 10_000, 150_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := newCluster(b, profiler.Config{}.WithBounds(workloads, 0))
	for n := range pods {
		w := deployment(fmt.Sprint("workload-", n%workloads))
		c.store.Pod(c.at, profiler.Pod{UID: uid(n), Node: fmt.Sprint("node-", n%nodes), Workload: w, Template: uint64(n%workloads) + 1, Always: true})
	}
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprint("node-", i)
	}
	one := func(i int) {
		c.at = c.at.Add(time.Minute / pods)
		n := i % pods
		w := window(n, .1*float64(n%workloads%7+1), 1e8*float64(n%workloads%11+1))
		w.Demand = []profile.DemandTime{{Bucket: uint32(5 + i%3), Millis: 30_000}, {Bucket: uint32(9 + i%5), Millis: 30_000}}
		c.send(names[n%nodes], w)
	}
	for i := range pods {
		one(i)
	}
	c.publish()
	i := pods
	b.ReportAllocs()
	for b.Loop() {
		one(i)
		i++
		if i%500 == 0 {
			for _, u := range c.store.Changed(c.at, 10) {
				c.store.Published(u)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(c)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "B/fleet")
}

// BenchmarkHeld measures a store's memory for a workload, and for each of its pods, after the first
// hour and after a day, in each slot of which they were measured.
func BenchmarkHeld(b *testing.B) {
	const workloads, pods = 1_000, 15
	for _, hours := range []int{1, 24} {
		b.Run(fmt.Sprint("hours=", hours), func(b *testing.B) {
			var one, all float64
			for b.Loop() {
				one, all = held(b, workloads, 1, hours), held(b, workloads, pods, hours)
			}
			pod := (all - one) / (workloads * (pods - 1))
			b.ReportMetric(pod, "B/pod")
			b.ReportMetric(one/workloads-pod, "B/workload")
		})
	}
}

// held returns the heap of a store of workloads with that many pods each, each pod on its own node
// and measured once an hour.
func held(b *testing.B, workloads, pods, hours int) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := newCluster(b, profiler.Config{}.WithBounds(workloads, 0))
	nodes := make([]string, workloads*pods/30+1)
	for i := range nodes {
		nodes[i] = fmt.Sprint("node-", i)
	}
	for n := range workloads * pods {
		c.store.Pod(c.at, profiler.Pod{
			UID: uid(n), Node: nodes[n%len(nodes)], Workload: deployment(fmt.Sprint("workload-", n%workloads)), Revision: "5d4f8c7b9",
			Template: uint64(n%workloads) + 1, Always: true, Names: []string{"main"},
		})
	}
	for range hours {
		c.at = c.at.Add(time.Hour)
		for n := range workloads * pods {
			w := window(n, .1*float64(n%workloads%7+1), 1e8*float64(n%workloads%11+1))
			w.Demand = []profile.DemandTime{{Bucket: uint32(5 + n%3), Millis: 30_000}, {Bucket: uint32(9 + n%5), Millis: 30_000}}
			c.send(nodes[n%len(nodes)], w)
		}
		c.publish()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(c)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}
