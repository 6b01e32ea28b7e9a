package waking

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
)

// flapPeriod is the period in which a flapping node has room and is full again.
const flapPeriod = 100 * time.Millisecond

// contestedNode is a node that pods wait for, here, beside older pods that wait for another one, and a third
// node that flaps and that no pod waits for.
type contestedNode struct {
	hub            *plugin.Hub
	here, flapping *cluster.PlaceNode
	log            *cluster.Log
}

func newContestedNode(t testing.TB, older, young int) *contestedNode {
	t.Helper()
	client, kubeconfig := cluster.Connect(t)
	// The slow retry would eventually try them all.
	args := plugin.SpazioArgs{MaxReportRate: 100, RetryPeriod: metav1.Duration{Duration: cluster.Patience}}
	hub, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	nodes := cluster.NewPlaceNodes(t, client, 3, 0, hub.Addr().String())
	cluster.WaitSignals(t, hub, "fresh", len(nodes))
	c := &contestedNode{hub: hub, here: nodes[0], flapping: nodes[2], log: cluster.Watch(t, client)}
	for _, b := range []cluster.Batch{
		{Prefix: "older", Pods: older, Work: time.Hour, Node: nodes[1].Name()},
		{Prefix: "young", Pods: young, Work: time.Hour, Node: nodes[0].Name()},
	} {
		waiting := hub.Waiting() + b.Pods
		cluster.Submit(t, client, b)
		cluster.Eventually(t, "all pods wait", func() (bool, any) { return hub.Waiting() == waiting, hub.Waiting() })
	}
	flap(t, c.flapping)
	return c
}

// flap alternately gives a node room and removes it until the test ends.
func flap(t testing.TB, n *cluster.PlaceNode) {
	ctx, cancel := context.WithCancel(context.Background())
	var flapping sync.WaitGroup
	flapping.Go(func() {
		ticker := time.NewTicker(flapPeriod / 2)
		defer ticker.Stop()
		for up := true; ; up = !up {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			places := 0
			if up {
				places = 1
			}
			n.Set(places, false)
		}
	})
	t.Cleanup(func() { cancel(); flapping.Wait() })
}

// openPlace opens the i-th place, counted from 1, and returns the time until the watch event of the pod
// bound to it. The other node has flapped before.
func (c *contestedNode) openPlace(t testing.TB, i int) time.Duration {
	for _, slots := range []int{0, 1} {
		cluster.Eventually(t, "a flap", func() (bool, any) {
			n, _ := c.hub.Node(c.flapping.Name())
			return n.Slots == slots, n.Slots
		})
	}
	rose := c.here.Set(i, false)
	c.log.WaitBound(t, i)
	var bound time.Time
	for _, b := range c.log.Bindings() {
		if b.At.After(bound) {
			bound = b.At
		}
	}
	return bound.Sub(rose)
}

// failedAttempts returns the number of failed attempts of this process's scheduler so far.
func failedAttempts(t testing.TB) (attempts int) {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "scheduler_schedule_attempts_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "result" && label.GetValue() != "scheduled" {
					attempts += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return attempts
}

// Older pods that fit elsewhere are neither tried for a place that they do not fit nor delay those that
// do, however a third node flaps.
func TestOlderPodsThatFitElsewhere(t *testing.T) {
	const rises = 20
	for _, older := range []int{100, 500} {
		t.Run(fmt.Sprint(older), func(t *testing.T) {
			c := newContestedNode(t, older, rises)
			before := failedAttempts(t)
			for i := range rises {
				t.Logf("place %d was given away within %v", i+1, c.openPlace(t, i+1))
			}
			if given := c.log.Bindings().PerNode("young-")[c.here.Name()]; given != rises {
				t.Errorf("got %d of %d places for the pods that wait for them", given, rises)
			}
			if failed := failedAttempts(t) - before; failed > rises {
				t.Errorf("got %d failed attempts for %d places", failed, rises)
			}
		})
	}
}

// The benchmark measures the time from a node's report of a free place to the watch event of the pod
// bound to it, beside pods that fit elsewhere and a flapping node.
func BenchmarkRiseBesideOlderPods(b *testing.B) {
	const young = 100
	for _, older := range []int{0, 100, 500} {
		b.Run(fmt.Sprintf("older=%d", older), func(b *testing.B) {
			c := newContestedNode(b, older, young)
			before := failedAttempts(b)
			var latencies []time.Duration
			for i := 0; b.Loop(); i++ {
				if i == young {
					b.Fatalf("more than %d places: lower -benchtime", young)
				}
				latencies = append(latencies, c.openPlace(b, i+1))
			}
			reportQuantiles(b, latencies)
			b.ReportMetric(float64(failedAttempts(b)-before), "failed-attempts")
		})
	}
}
