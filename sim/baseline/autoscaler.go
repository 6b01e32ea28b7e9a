package baseline

import "math"

// HorizontalPodAutoscaler decides how many replicas a service has by the CPU that they use, as
// the controller of autoscaling/v2 does with its default behaviour
// (k8s.io/kubernetes/pkg/controller/podautoscaler, 1.36). The zero value has no limits.
type HorizontalPodAutoscaler struct {
	// Min and Max bound the replicas.
	Min, Max int
	// Target is the mean use of a pod in cores that it aims at: of a target utilisation, its
	// share of the pods' request.
	Target float64

	recommended []recommendation
}

// recommendation is what the metrics asked for at a time.
type recommendation struct {
	at       float64
	replicas int
}

// The controller's defaults: the deviation of the ratio from 1 that changes nothing, the
// seconds for which the largest recommendation holds off a scale-down, and the most that
// replicas grow by at a time, in times and in pods.
const (
	scaleTolerance    = .1
	downStabilisation = 300
	scaleUpTimes      = 2
	scaleUpPods       = 4
)

// AutoscalerPeriod is the time from one decision of the controller to the next, its
// --horizontal-pod-autoscaler-sync-period, in seconds.
const AutoscalerPeriod = 15

// Replicas decides at a time in seconds for a service of so many replicas: usage in cores is
// of those that are ready, the rest are not.
func (h *HorizontalPodAutoscaler) Replicas(now float64, current int, usage []float64) int {
	desired := h.asked(current, usage)
	if len(h.recommended) == 0 { // the replicas that are there count as the first
		h.recommended = append(h.recommended, recommendation{now, current})
	}
	kept := h.recommended[:0]
	most := desired
	for _, r := range h.recommended {
		if now-r.at < downStabilisation {
			kept = append(kept, r)
			most = max(most, r.replicas)
		}
	}
	h.recommended = append(kept, recommendation{now, desired})
	replicas := min(max(current, desired), max(desired, most))
	replicas = min(replicas, max(scaleUpTimes*current, current+scaleUpPods))
	return min(max(replicas, h.Min), h.Max)
}

// asked is what the metrics ask for. Pods that are not ready count as idle where more are
// asked for, and not at all where fewer are.
func (h *HorizontalPodAutoscaler) asked(current int, usage []float64) int {
	if len(usage) == 0 {
		return current
	}
	sum := 0.
	for _, u := range usage {
		sum += u
	}
	counted := len(usage)
	ratio := sum / float64(counted) / h.Target
	if ratio > 1 && counted < current {
		counted = current
		if ratio = sum / float64(counted) / h.Target; ratio < 1 {
			return current
		}
	}
	if math.Abs(ratio-1) <= scaleTolerance {
		return current
	}
	return int(math.Ceil(ratio * float64(counted)))
}
