package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/placement"
)

// full is a cluster in which only the nodes in slots have room.
type full struct{ slots map[int]int }

func (f full) Slots(node, _ int, beside []int) int { return max(f.slots[node]-len(beside), 0) }
func (f full) Places(int, int) int                 { return 0 }

// crowd is pods that wait for a full cluster: of 200 workloads, of five priorities, and of four
// kinds by the taints that they do not tolerate.
type crowd struct {
	*placement.Queue
	full
	now  time.Duration
	sets [4]placement.WaitSet
}

func newCrowd(nodes, pods int) *crowd {
	c := &crowd{full: full{map[int]int{}}}
	c.Queue = placement.New(placement.Config{
		MaxWait: 10 * time.Minute, Pause: 10 * time.Millisecond, Retry: 30 * time.Second, Grant: 25 * time.Millisecond, Backoff: time.Second,
	}, c.full)
	for i := range nodes {
		c.AddNode(i)
	}
	for i := range c.sets {
		c.sets[i] = placement.EveryNode()
		c.sets[i].Remove(i + 1)
		for node := i; node < nodes && i > 0; node += 64 {
			c.sets[i].Remove(node)
		}
	}
	for i := range pods {
		c.AddPod(i, placement.Pod{Workload: i % 200, Priority: int32(i % 5), Order: int64(i)})
		c.try(i)
	}
	c.Round(c.now)
	return c
}

// try is an attempt of a pod in vain.
func (c *crowd) try(pod int) {
	c.Try(pod, c.now)
	c.Refuse(pod, c.sets[pod%len(c.sets)], c.now)
	c.StartWait(pod, c.now)
}

// BenchmarkQueue measures what is done where the most pods wait for the most nodes that Kubernetes
// supports: a node rises and a pod is woken for it, up to 200 of which there are in a second; an
// inspection, of which there are four; an attempt; and a change of a node's taints.
func BenchmarkQueue(b *testing.B) {
	for _, size := range []struct{ nodes, pods int }{{1000, 10_000}, {15_000, 150_000}} {
		c := newCrowd(size.nodes, size.pods)
		name := func(of string) string { return fmt.Sprintf("%s/nodes=%d/pods=%d", of, size.nodes, size.pods) }
		b.Run(name("rise"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.now += 50 * time.Millisecond
				c.slots[0] = 1
				c.NotifyNode(0, c.now)
				c.Round(c.now)
				woken := c.Woken()
				if len(woken) != 1 {
					b.Fatalf("%d pods are woken for one slot", len(woken))
				}
				c.slots[0] = 0
				c.NotifyNode(0, c.now)
				c.Release(woken[0], c.now)
				c.try(woken[0])
			}
		})
		b.Run(name("inspection"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.now += 250 * time.Millisecond
				c.Advance(c.now)
				c.WakeIdle(16, c.now)
				c.RoundOverdue(16, c.now)
				c.Woken()
			}
		})
		b.Run(name("attempt"), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.try(i % size.pods)
			}
		})
		b.Run(name("taint"), func(b *testing.B) {
			for b.Loop() {
				c.ResetNode(0)
			}
		})
	}
}
