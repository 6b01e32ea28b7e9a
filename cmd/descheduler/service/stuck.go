package service

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/relief"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	// stuckAfter is for how long a pod may exist after its grace period. A kubelet removes it within
	// seconds, unless it is not reachable or a finalizer holds the pod.
	stuckAfter     = time.Minute
	stuckPod       = "Pod stays terminating, and its overcommitted node loses no other"
	waitingAction  = "Waiting"
	stuckEventNote = "terminating for %v: until it is gone no other pod is evicted from %s, which is overcommitted"
)

// reportStuck logs the pods whose end is overdue on nodes that lose no other pod meanwhile, and records
// an event on each. A pod is reported once.
func (r *reliever) reportStuck(ctx context.Context, now time.Time, known []relief.Node, decisions []relief.Decision, pods map[reserve.PodKey]*v1.Pod) {
	reported := make(map[reserve.PodKey]bool)
	for i := range known {
		n := &known[i]
		for j := range n.Pods {
			key := n.Pods[j].Key
			if !n.Pods[j].Terminating {
				continue
			}
			if pod := pods[key]; !r.stuck[key] && decisions[i].Reason == relief.Paused && pod != nil && isOverdue(pod, now) {
				r.reportPod(ctx, now, pod)
			} else if !r.stuck[key] {
				continue
			}
			reported[key] = true
		}
	}
	r.stuck = reported
}

func (r *reliever) reportPod(ctx context.Context, now time.Time, pod *v1.Pod) {
	age := terminatingFor(pod, now)
	klog.FromContext(ctx).Info(stuckPod, "pod", klog.KObj(pod), "node", pod.Spec.NodeName, "terminatingFor", age)
	if r.service.recorder != nil {
		r.service.recorder.Eventf(pod, nil, v1.EventTypeWarning, podStuckTerminating, waitingAction, stuckEventNote, age, pod.Spec.NodeName)
	}
}

// isOverdue reports whether a terminating pod should be gone: its deletion timestamp is the end of its
// grace period.
func isOverdue(pod *v1.Pod, now time.Time) bool {
	return now.Sub(pod.DeletionTimestamp.Time) > stuckAfter
}

// terminatingFor returns for how long a pod has been terminating.
func terminatingFor(pod *v1.Pod, now time.Time) time.Duration {
	age := now.Sub(pod.DeletionTimestamp.Time)
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		age += time.Duration(*grace) * time.Second
	}
	return age.Truncate(time.Second)
}
