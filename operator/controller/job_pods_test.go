package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// leaving is a pod whose node does not confirm its deletion.
func deleting(p corev1.Pod) corev1.Pod {
	when := at(100)
	p.DeletionTimestamp = &when
	return p
}

// crashing is a pod whose containers wait to be started again.
func crashing(p corev1.Pod) corev1.Pod {
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{StartedAt: s.State.Running.StartedAt}
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	}
	return p
}

func TestPods(t *testing.T) {
	bound := func(n, at int) corev1.Pod { return bind(slotPod("a", 2, n), "node-a", at) }
	two := start(bound(0, 1), 5)
	two.Spec.Containers = make([]corev1.Container, 2)
	restarted := start(bound(0, 1), 50)
	restarted.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{StartedAt: at(4)}
	for _, test := range []struct {
		what     string
		pods     []corev1.Pod
		expected int
		want     lifecycle.Pods
		counts   v1alpha1.PodCounts
	}{
		{"none", nil, 2, lifecycle.Pods{Expected: 2}, v1alpha1.PodCounts{Expected: 2}},
		{"waiting", []corev1.Pod{slotPod("a", 2, 0)}, 1, lifecycle.Pods{Expected: 1, Live: 1}, v1alpha1.PodCounts{Expected: 1}},
		{"bound, one after the other", []corev1.Pod{bound(0, 3), bound(1, 1)}, 2,
			lifecycle.Pods{Expected: 2, Bound: 2, BoundAt: at(3).Time, Live: 2}, v1alpha1.PodCounts{Expected: 2, Bound: 2}},
		{"of another run", []corev1.Pod{start(bind(slotPod("a", 1, 0), "node-a", 1), 2)}, 1, lifecycle.Pods{Expected: 1, Live: 1}, v1alpha1.PodCounts{Expected: 1}},
		{"started, and one that comes after the first two", []corev1.Pod{start(bound(0, 1), 5), start(bound(1, 2), 4), start(bound(2, 8), 9)}, 2,
			lifecycle.Pods{Expected: 2, Bound: 3, BoundAt: at(2).Time, Running: 3, StartedAt: at(5).Time, Alive: 3, Live: 3}, v1alpha1.PodCounts{Expected: 2, Bound: 3, Running: 3}},
		{"the second container has yet to start", []corev1.Pod{two}, 1,
			lifecycle.Pods{Expected: 1, Bound: 1, BoundAt: at(1).Time, Alive: 1, Live: 1}, v1alpha1.PodCounts{Expected: 1, Bound: 1, Running: 1}},
		{"all its containers, the last at 7", []corev1.Pod{start(two, 5, 7)}, 1,
			lifecycle.Pods{Expected: 1, Bound: 1, BoundAt: at(1).Time, Running: 1, StartedAt: at(7).Time, Alive: 1, Live: 1}, v1alpha1.PodCounts{Expected: 1, Bound: 1, Running: 1}},
		{"started again: the first start counts", []corev1.Pod{restarted}, 1,
			lifecycle.Pods{Expected: 1, Bound: 1, BoundAt: at(1).Time, Running: 1, StartedAt: at(4).Time, Alive: 1, Live: 1}, v1alpha1.PodCounts{Expected: 1, Bound: 1, Running: 1}},
		{"ended: it has been bound and started, and is not live", []corev1.Pod{end(start(bound(0, 1), 5), corev1.PodSucceeded)}, 1,
			lifecycle.Pods{Expected: 1, Bound: 1, BoundAt: at(1).Time, Running: 1, StartedAt: at(5).Time, EndedAt: at(999).Time}, v1alpha1.PodCounts{Expected: 1, Bound: 1}},
		{"on a node that is gone", []corev1.Pod{deleting(start(bound(0, 1), 5))}, 1,
			lifecycle.Pods{Expected: 1, Bound: 1, BoundAt: at(1).Time, Running: 1, StartedAt: at(5).Time, Live: 1, DeletedAt: at(100).Time}, v1alpha1.PodCounts{Expected: 1, Bound: 1, Running: 1}},
		{"on a node that is gone, and one that is not", []corev1.Pod{deleting(start(bound(0, 1), 5)), start(bound(1, 1), 5)}, 1,
			lifecycle.Pods{Expected: 1, Bound: 2, BoundAt: at(1).Time, Running: 2, StartedAt: at(5).Time, Alive: 1, Live: 2}, v1alpha1.PodCounts{Expected: 1, Bound: 2, Running: 2}},
		{"waiting to be started again", []corev1.Pod{crashing(start(bound(0, 1), 5))}, 1,
			lifecycle.Pods{Expected: 1, Bound: 1, BoundAt: at(1).Time, Running: 1, StartedAt: at(5).Time, Live: 1}, v1alpha1.PodCounts{Expected: 1, Bound: 1, Running: 1}},
		{"failed before it could start", []corev1.Pod{end(bound(0, 1), corev1.PodFailed)}, 1,
			lifecycle.Pods{Expected: 1, Bound: 1, BoundAt: at(1).Time}, v1alpha1.PodCounts{Expected: 1, Bound: 1, Failed: 1}},
	} {
		got, counts := countPods(test.pods, 2, test.expected)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
		if diff := cmp.Diff(test.counts, counts); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
	}
	for text, want := range map[string]int{"7": 7, "": 0, "-3": 0, "x": 0} {
		pod := corev1.Pod{}
		pod.Labels = map[string]string{v1alpha1.LabelAttempt: text}
		if got := attemptOf(&pod); got != want {
			t.Errorf("attempt %q is %d", text, got)
		}
	}
}
