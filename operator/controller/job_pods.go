package controller

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// countPods counts a job's pods that belong in slots. attempt is the run's, expected how many
// it has; the times are those at which so many were bound and had started, by the pods'
// own account.
func countPods(pods []corev1.Pod, attempt, expected int) (lifecycle.Pods, v1alpha1.PodCounts) {
	of := lifecycle.Pods{Expected: expected}
	counts := v1alpha1.PodCounts{Expected: int32(expected)}
	var bound, started []time.Time
	stays := false
	for i := range pods {
		pod := &pods[i]
		if isLive(pod) {
			of.Live++
			stays = stays || pod.DeletionTimestamp == nil
			if at := pod.DeletionTimestamp; at != nil && at.After(of.DeletedAt) {
				of.DeletedAt = at.UTC()
			}
		}
		if attemptOf(pod) != attempt {
			continue
		}
		if pod.Spec.NodeName != "" {
			bound = append(bound, boundAt(pod))
		}
		if at, ok := startedAt(pod); ok {
			started = append(started, at)
		}
		switch pod.Status.Phase {
		case corev1.PodRunning:
			counts.Running++
			if runs(pod) {
				of.Alive++
			}
		case corev1.PodFailed:
			counts.Failed++
		}
		if at := endedAt(pod); at.After(of.EndedAt) {
			of.EndedAt = at
		}
	}
	if stays {
		of.DeletedAt = time.Time{}
	}
	of.Bound, of.BoundAt = len(bound), nth(bound, expected)
	of.Running, of.StartedAt = len(started), nth(started, expected)
	counts.Bound = int32(of.Bound)
	return of, counts
}

// isLive reports whether a pod has not ended: it is, or may yet be, in a slot.
func isLive(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// attemptOf is the run that a pod is of; 0 if it does not say.
func attemptOf(pod *corev1.Pod) int {
	attempt, err := strconv.Atoi(pod.Labels[v1alpha1.LabelAttempt])
	if err != nil || attempt < 0 {
		return 0
	}
	return attempt
}

// boundAt is when a pod was bound, zero if it does not say.
func boundAt(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.UTC()
		}
	}
	return time.Time{}
}

// startedAt is when all containers of a pod had started for the first time that is known
// of, and whether they have.
func startedAt(pod *corev1.Pod) (time.Time, bool) {
	if pod.Spec.NodeName == "" || len(pod.Status.ContainerStatuses) < max(1, len(pod.Spec.Containers)) {
		return time.Time{}, false
	}
	var last time.Time
	for i := range pod.Status.ContainerStatuses {
		at := firstStart(&pod.Status.ContainerStatuses[i])
		if at.IsZero() {
			return time.Time{}, false
		}
		if at.After(last) {
			last = at
		}
	}
	return last, true
}

// runs reports whether a pod in phase Running does: one on a node that is gone, or all of
// whose containers wait to be restarted, stays in that phase.
func runs(pod *corev1.Pod) bool {
	statuses := pod.Status.ContainerStatuses
	return pod.DeletionTimestamp == nil && (len(statuses) == 0 ||
		slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool { return s.State.Running != nil }))
}

// endedAt is when the last container of a pod that has ended did, zero if it does not say.
func endedAt(pod *corev1.Pod) time.Time {
	var last time.Time
	if isLive(pod) {
		return last
	}
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.UTC()
		}
	}
	return last
}

// firstStart is the earliest start of a container that its status still has.
func firstStart(s *corev1.ContainerStatus) time.Time {
	switch {
	case s.LastTerminationState.Terminated != nil && !s.LastTerminationState.Terminated.StartedAt.IsZero():
		return s.LastTerminationState.Terminated.StartedAt.UTC()
	case s.State.Running != nil:
		return s.State.Running.StartedAt.UTC()
	case s.State.Terminated != nil:
		return s.State.Terminated.StartedAt.UTC()
	}
	return time.Time{}
}

// nth is when there were n of the times, the last of them if there are fewer; zero if
// one is unknown.
func nth(times []time.Time, n int) time.Time {
	if len(times) == 0 {
		return time.Time{}
	}
	slices.SortFunc(times, time.Time.Compare)
	if times[0].IsZero() {
		return time.Time{}
	}
	return times[min(max(n, 1), len(times))-1]
}
