package slots_test

import (
	"context"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// TestBoundPodInACycle: a pod that has a node keeps it, even without a slot.
func TestBoundPodInACycle(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "cpu 4")
	w.start()
	pod := podOf("job", "a", "cpu 1")
	pod.Spec.NodeName = "n1"
	ctx, state := context.Background(), &cycleState{}
	if _, status := w.PreFilter(ctx, state, pod, nil); status.Code() != fwk.Skip {
		t.Errorf("PreFilter: got %v, want Skip", status)
	}
	if status := w.Filter(ctx, state, pod, w.info("n1")); !status.IsSuccess() {
		t.Errorf("Filter: %v", status)
	}
	if status := w.Reserve(ctx, state, pod, "n1"); !status.IsSuccess() {
		t.Errorf("Reserve: %v", status)
	}
}
