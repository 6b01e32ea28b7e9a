package plugin

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/profile"
)

// crowd is a full cluster's waiting pods: of 200 workloads, of five priorities, and of four kinds
// by the taints that they do not tolerate.
type crowd struct {
	*waiting
	nodes []*node
	now   time.Duration
	slots map[*node]int
	sets  [4]*reach
}

func newCrowd(nodes, pods int) *crowd {
	c := &crowd{waiting: newWaiting(), slots: map[*node]int{}, now: time.Hour}
	c.waits, c.retry, c.start = func(*v1.Pod) bool { return true }, time.Minute, time.Unix(0, 0)
	c.rules = &rules{}
	for i := range nodes {
		n := &node{name: fmt.Sprint("node-", i), id: i}
		n.view.Store(&view{})
		c.nodes = append(c.nodes, n)
	}
	for i := range c.sets {
		c.sets[i] = newReach(nodes, true)
		for id := i; id < nodes && i > 0; id += 64 {
			c.sets[i].remove(id)
		}
	}
	for i := range pods {
		c.try(i)
	}
	c.slots[c.nodes[0]] = 1
	for _, woken := range c.round() { // now all are ready
		c.try(number(woken.pod))
	}
	return c
}

// try is an attempt of the i-th pod in vain.
func (c *crowd) try(i int) { c.tryWith(i, c.setOf(i)) }

// setOf makes what the i-th pod waits for, as each attempt does anew.
func (c *crowd) setOf(i int) *reach {
	set, kind := newReach(len(c.nodes), true), c.sets[i%len(c.sets)]
	for id := range c.nodes {
		if kind.word(id/wordBits)&(1<<(id%wordBits)) == 0 {
			set.remove(id)
		}
	}
	return set
}

func (c *crowd) tryWith(i int, set *reach) {
	priority, uid := int32(i%5), types.UID(fmt.Sprint(i))
	pod := &v1.Pod{}
	pod.UID, pod.Spec.Priority = uid, &priority
	a := new(attempt)
	workload := profile.Workload{Namespace: "default", Kind: "Deployment", Name: fmt.Sprint(i % 200)}
	c.begin(pod, nil, a, kind{workload: workload, asks: podDemand}, c.now)
	c.decide(uid, a, set, true)
}

func number(pod *v1.Pod) int {
	i, err := strconv.Atoi(string(pod.UID))
	if err != nil {
		panic(err)
	}
	return i
}

func (c *crowd) round() []activation {
	o := newOffer(c.nodes[:1], nil, func(n *node, _ *view, _ *class) int { return c.slots[n] })
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.choose(o, c.now)
}

// BenchmarkWaiting measures what is done under the mutex of waiting where the most pods wait on
// the most nodes that Kubernetes supports: a round in which one node rises, up to 200 of which
// there are in a second; an inspection, of which there are four; and a change of a node's taints.
func BenchmarkWaiting(b *testing.B) {
	for _, size := range []struct{ nodes, pods int }{{1000, 10_000}, {15_000, 150_000}} {
		c := newCrowd(size.nodes, size.pods)
		name := func(of string) string { return fmt.Sprintf("%s/nodes=%d/pods=%d", of, size.nodes, size.pods) }
		b.Run(name("round"), func(b *testing.B) {
			for b.Loop() {
				c.now += 2 * grantTime
				woken := c.round()
				b.StopTimer()
				if len(woken) != 1 {
					b.Fatalf("%d pods are activated for one slot", len(woken))
				}
				c.try(number(woken[0].pod))
				b.StartTimer()
			}
		})
		b.Run(name("inspection"), func(b *testing.B) {
			for b.Loop() {
				c.now += 250 * time.Millisecond
				c.late(&c.rules.trickle, c.now)
				c.overdue(1, overdueMost, c.now)
				c.forRoom()
			}
		})
		b.Run(name("taint"), func(b *testing.B) {
			for b.Loop() {
				c.admit(c.nodes[0])
			}
		})
		b.Run(name("attempt"), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				set := c.setOf(i % size.pods)
				b.StartTimer()
				c.tryWith(i%size.pods, set)
			}
		})
	}
}
