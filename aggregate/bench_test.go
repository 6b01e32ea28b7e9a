package aggregate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/svd"
)

func BenchmarkPut(b *testing.B) {
	for _, dim := range []int{2, 4, 16} {
		b.Run(fmt.Sprintf("d=%d/nodes=5000", dim), func(b *testing.B) {
			a, locals := full(b, dim, 5000)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				l := &locals[i%len(locals)]
				l.Sequence++
				if _, err := a.Put(start.Add(time.Duration(i)), *l); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkGlobals is one publish tick after a push of every node.
func BenchmarkGlobals(b *testing.B) {
	for _, dim := range []int{2, 4, 16} {
		b.Run(fmt.Sprintf("d=%d/nodes=5000", dim), func(b *testing.B) {
			a, locals := full(b, dim, 5000)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for i := range locals {
					locals[i].Sequence++
					if _, err := a.Put(start, locals[i]); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := a.Globals(start); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkChanges encodes the changes of 5,000 nodes for another replica, and merges them there.
func BenchmarkChanges(b *testing.B) {
	for _, dim := range []int{2, 4, 16} {
		a, _ := full(b, dim, 5000)
		entries, _ := a.Changes(start, 0, a.Cursor(), 0, math.MaxInt)
		b.Run(fmt.Sprintf("encode/d=%d/nodes=5000", dim), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.Changes(start, 0, a.Cursor(), 0, math.MaxInt)
			}
		})
		b.Run(fmt.Sprintf("merge/d=%d/nodes=5000", dim), func(b *testing.B) {
			b.ReportAllocs()
			other := create(b, aggregate.Options{})
			for b.Loop() {
				for i := range entries {
					entries[i].Sequence++
					if merged, err := other.Merge(start, entries[i], 1); err != nil || !merged {
						b.Fatal(merged, err)
					}
				}
			}
		})
	}
}

func full(b *testing.B, dim, nodes int) (*aggregate.Aggregator, []aggregate.Local) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	states := make([]svd.State, 32)
	for i := range states {
		states[i] = observe(b, rng, dim, 3)
	}
	a := create(b, aggregate.Options{})
	locals := make([]aggregate.Local, nodes)
	for i := range locals {
		costs := make([]aggregate.Cost, dim)
		for j := range costs {
			costs[j] = aggregate.Cost{Value: 1 + rng.Float64(), SD: rng.Float64(), Known: true}
		}
		locals[i] = aggregate.Local{Node: fmt.Sprintf("node-%05d", i), Schema: "s", Model: states[i%len(states)], Costs: costs}
		feed(b, a, push{start, locals[i]})
	}
	return a, locals
}
