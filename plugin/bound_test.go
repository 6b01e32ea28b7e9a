package plugin_test

import (
	"testing"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

// TestBoundPodInACycle: a pod that has its node is not refused it, however full it is, and changes
// nothing. From Kubernetes 1.37 on one may be scheduled whose resize its node has deferred.
func TestBoundPodInACycle(t *testing.T) {
	c := newCluster(t, withoutRetry(2))
	client := c.dial()
	for i := range 2 {
		c.open(client, nodeName(i)).settle(agent.Report{Avail: 0})
	}
	const reserved = `spazio_profile_pods_total{source="off"}`
	before := counter(t, reserved)
	pod, state := newPod(0, onNode(nodeName(0))), &cycleState{}
	if _, status := c.PreFilter(t.Context(), state, pod, c.infos); !status.IsSkip() {
		t.Errorf("PreFilter: got %v, want Skip", status)
	}
	if status := c.Filter(t.Context(), state, pod, c.infos[0]); !status.IsSuccess() {
		t.Errorf("Filter: %v", status)
	}
	if status := c.PreScore(t.Context(), state, pod, c.infos[:1]); !status.IsSkip() {
		t.Errorf("PreScore: got %v, want Skip", status)
	}
	if status := c.Reserve(t.Context(), state, pod, nodeName(0)); !status.IsSuccess() {
		t.Errorf("Reserve: %v", status)
	}
	if census := c.hub.Ledger(); census != (reserve.Census{}) {
		t.Errorf("the ledger counts a pod again that has its node: %+v", census)
	}
	c.Unreserve(t.Context(), state, pod, nodeName(0)) // the scheduler never binds it
	if got := counter(t, reserved); got != before {
		t.Errorf("it is counted as reserved")
	}
	if got := c.hub.Waiting(); got != 0 {
		t.Errorf("got %d waiting pods, want none", got)
	}
}

// TestAssumedPodNeedsRoom: a pod already has its node in Reserve, since the framework has assumed it
// there; yet a node admits no more pods than it has room for.
func TestAssumedPodNeedsRoom(t *testing.T) {
	c := newCluster(t, withoutRetry(1))
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 1})
	var states []*cycleState
	for i := range 2 {
		state := &cycleState{}
		if _, status := c.PreFilter(t.Context(), state, newPod(i), c.infos); status.IsRejected() {
			t.Fatalf("PreFilter of pod %d: %v", i, status)
		}
		states = append(states, state)
	}
	for i, admitted := range []bool{true, false} {
		if status := c.Reserve(t.Context(), states[i], newPod(i, onNode(nodeName(0))), nodeName(0)); status.IsSuccess() != admitted {
			t.Errorf("Reserve of assumed pod %d: got %v, want success: %v", i, status, admitted)
		}
	}
}
