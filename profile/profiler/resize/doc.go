// Package resize decides how a running pod's requests follow what is recommended. It is
// pure: package controller watches pods and autoscalers, and writes.
//
//	PodOf        what matters of a pod
//	Decide       the requests that its containers should have, or why they stay
//	ScalingOf    the resources by whose utilisation an autoscaler sets a workload's pods
//
// Requests alone are changed, of containers that have one of the resource already, and
// never beyond their limits, so that the pod stays of the class Burstable; one of another
// class can't stay what it is. A pod is changed at most once in ten minutes, whoever did so
// last, and by a tenth at least. Memory never goes down below what the pod was seen to take.
// A pod whose last resize its node can't ever take (Infeasible) is left alone, as is one
// whose last is not done, or a container that would be started again for it.
//
// Types that do not speak of concurrent use are plain values.
package resize
