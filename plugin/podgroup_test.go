//go:build !kubernetes1.35

package plugin_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

// member is a pod of a gang with its node and the cycle that chose it.
type member struct {
	pod   *v1.Pod
	node  string
	state *cycleState
}

// try schedules a gang as kube-scheduler does in the cycle of a PodGroup: each pod is reserved for the
// next to see, up to the first that finds no node, and all of that is taken back, the last first.
func (c *cluster) try(gang []*v1.Pod) (fit []member) {
	c.t.Helper()
	ctx := context.Background()
	for _, pod := range gang {
		m := member{pod: pod, state: &cycleState{tentative: true}}
		feasible, _ := c.attemptIn(m.state, pod, c.infos)
		if len(feasible) == 0 {
			break
		}
		m.node = feasible[0].Node().Name
		if status := c.Reserve(ctx, m.state, assumed(pod, m.node), m.node); !status.IsSuccess() {
			c.t.Fatalf("%s on %s: %v", pod.Name, m.node, status)
		}
		fit = append(fit, m)
	}
	for _, m := range slices.Backward(fit) {
		c.Unreserve(ctx, m.state, assumed(m.pod, m.node), m.node)
	}
	return fit
}

// TestGangIsTriedAsAWhole: what a gang reserves while it is tried counts for its other pods and for
// nothing else. It is taken back without a trace, and wakes none of the gang again; more room
// does. What fits is then reserved, even if a report in between shows less room.
func TestGangIsTriedAsAWhole(t *testing.T) {
	const reserved, ages = `spazio_profile_pods_total{source="off"}`, "spazio_signal_age_seconds_count"
	setup, _ := still(3)
	c := newCluster(t, setup)
	client := c.dial()
	nodes := []*stream{c.open(client, nodeName(0)), c.open(client, nodeName(1)), c.open(client, nodeName(2))}
	nodes[0].settle(agent.Report{Avail: 1})
	nodes[1].settle(agent.Report{Avail: 1})
	nodes[2].settle(agent.Report{Avail: 0})
	grouped := func(p *v1.Pod) { setGroup(&p.Spec, "gang") }
	gang := []*v1.Pod{newPod(0, grouped), newPod(1, grouped), newPod(2, grouped)}
	c.arrive(gang...)
	witness := newPod(3, selective, withPriority(1))
	c.arrive(witness)
	if _, feasible, _ := c.attempt(witness, c.infos[2:]); len(feasible) > 0 {
		t.Fatal("the witness found room")
	}
	before := []float64{counter(t, reserved), counter(t, ages)}
	for range 20 {
		if fit := c.try(gang); len(fit) != 2 {
			t.Fatalf("%d pods of the gang fit in two slots", len(fit))
		}
	}
	if census := c.hub.Ledger(); census != (reserve.Census{}) {
		t.Errorf("the ledger is left with %+v", census)
	}
	nodes[2].settle(agent.Report{Avail: 1})
	c.eventually("the witness is woken", func() bool { return c.peek()["pod-3"] })
	if diff := cmp.Diff(map[string]bool{"pod-3": true}, c.woken()); diff != "" {
		t.Errorf("woken by what the gang gave back (-want +got):\n%s", diff)
	}
	nodes[1].settle(agent.Report{Avail: 2})
	c.eventually("the gang is woken by a rise", func() bool { return len(c.peek()) > 0 })

	fit := c.try(gang)
	if len(fit) != len(gang) {
		t.Fatalf("%d pods of the gang fit in %d slots", len(fit), len(gang))
	}
	if diff := cmp.Diff(before, []float64{counter(t, reserved), counter(t, ages)}); diff != "" {
		t.Errorf("reserved pods and ages of reports are counted of a trial (-before +after):\n%s", diff)
	}
	nodes[0].settle(agent.Report{Avail: 0})
	for _, m := range fit {
		m.state.tentative = false
		if status := c.Reserve(t.Context(), m.state, assumed(m.pod, m.node), m.node); !status.IsSuccess() {
			t.Errorf("%s is left out of its gang: %v", m.pod.Name, status)
		}
	}
	if got := counter(t, reserved) - before[0]; got != 3 {
		t.Errorf("%g pods are counted as reserved, want 3", got)
	}
	for i, want := range []float64{1, 2, 0} {
		if got := c.state(nodeName(i)).InFlight; got != want {
			t.Errorf("%g pods in flight to node %d, want %g", got, i, want)
		}
	}
	// The gang waits for its quorum in vain.
	for _, m := range fit {
		c.Unreserve(t.Context(), m.state, assumed(m.pod, m.node), m.node)
	}
	if census := c.hub.Ledger(); census != (reserve.Census{}) {
		t.Errorf("after the time-out the ledger is left with %+v", census)
	}
}
