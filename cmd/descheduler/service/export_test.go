package service

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/tools/events"

	"github.com/spazio-scheduler/spazio/relief"
	"github.com/spazio-scheduler/spazio/reserve"
)

// IsMovable is isMovable, for tests.
func IsMovable(pod *v1.Pod) bool { return isMovable(pod) }

// Allow reports whether disruption budgets allow an eviction.
func Allow(list []*policyv1.PodDisruptionBudget, pod *v1.Pod) bool { return compile(list).allow(pod) }

// IsLimit is isLimit, for tests.
func IsLimit(err error) bool { return isLimit(err) }

// Stuck returns what reports a pod, if it is there, of a node with a decision.
func Stuck(recorder events.EventRecorder) func(context.Context, time.Time, *v1.Pod, relief.Reason) {
	r := &reliever{service: &Descheduler{recorder: recorder}}
	return func(ctx context.Context, now time.Time, pod *v1.Pod, decision relief.Reason) {
		n, pods := relief.Node{}, map[reserve.PodKey]*v1.Pod{}
		if pod != nil {
			key := reserve.KeyOf(string(pod.UID))
			n.Pods = []relief.Pod{{Key: key, Terminating: pod.DeletionTimestamp != nil}}
			pods[key] = pod
		}
		r.reportStuck(ctx, now, []relief.Node{n}, []relief.Decision{{Reason: decision}}, pods)
	}
}

// ReliefArgs are the plugin's arguments.
type ReliefArgs = reliefArgs
