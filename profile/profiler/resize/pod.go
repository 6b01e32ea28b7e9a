package resize

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
)

// Label of a pod whose owner wants it resized has the value "true".
const Label = "spazio-scheduler.github.io/resize"

// The resources that are resized, in the order of Pod's and Change's arrays.
const (
	cpu = iota
	memory
	resources
)

// Pod is what matters of one. It is a plain value, safe for concurrent reading.
type Pod struct {
	Namespace, Name, UID, Version string
	Workload                      profile.Workload
	Containers                    []Container
	// Resizable: it runs, is of the class Burstable, and of a kind that can be resized.
	Resizable bool
	// Since is when it began to run, or was last resized.
	Since time.Time
	// Waits says why its last resize is not done, empty if it is.
	Waits string

	// strict: what is beside Containers would leave the pod Guaranteed.
	strict bool
}

// Container is one of a pod's. It is a plain value, safe for concurrent reading.
type Container struct {
	Name string
	// requests and limits are 0 where there is none; fixed ones must stay.
	requests, limits [resources]float64
	fixed            [resources]bool
}

var names = [resources]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// PodOf returns what matters of a pod.
func PodOf(p *corev1.Pod) Pod {
	meta := v1alpha1.MetaOf(p)
	meta.Node = p.Spec.NodeName
	w, _, _ := profile.Identify(meta)
	made := Pod{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Version: p.ResourceVersion, Workload: w,
		Resizable: resizable(p), Since: since(p), Waits: waits(p), strict: true,
	}
	for i := range p.Spec.InitContainers {
		c := containerOf(&p.Spec.InitContainers[i])
		made.strict = made.strict && c.strict(c.requests)
	}
	for i := range p.Spec.Containers {
		made.Containers = append(made.Containers, containerOf(&p.Spec.Containers[i]))
	}
	return made
}

// resizable: static pods, those of Windows and those with resources of their own are not.
func resizable(p *corev1.Pod) bool {
	static := p.Annotations[corev1.MirrorPodAnnotationKey] != ""
	windows := p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && p.Status.QOSClass == corev1.PodQOSBurstable &&
		!static && !windows && p.Spec.Resources == nil
}

// since: who wrote requests, and when, is among the fields' managers.
func since(p *corev1.Pod) (at time.Time) {
	if p.Status.StartTime != nil {
		at = p.Status.StartTime.Time
	}
	for _, m := range p.ManagedFields {
		if m.Subresource == "resize" && m.Time != nil && m.Time.After(at) {
			at = m.Time.Time
		}
	}
	return at
}

func waits(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PodResizePending:
			if c.Reason == "" {
				return string(c.Type)
			}
			return c.Reason
		case corev1.PodResizeInProgress:
			return string(c.Type)
		}
	}
	return ""
}

func containerOf(c *corev1.Container) Container {
	made := Container{Name: c.Name}
	for r, name := range names {
		made.requests[r] = amountOf(c.Resources.Requests, name)
		made.limits[r] = amountOf(c.Resources.Limits, name)
	}
	for _, p := range c.ResizePolicy {
		for r, name := range names {
			made.fixed[r] = made.fixed[r] || p.ResourceName == name && p.RestartPolicy == corev1.RestartContainer
		}
	}
	return made
}

func amountOf(list corev1.ResourceList, name corev1.ResourceName) float64 {
	q := list[name]
	return max(q.AsApproximateFloat64(), 0)
}

// strict reports that a container with these requests has what makes a pod Guaranteed.
func (c *Container) strict(requests [resources]float64) bool {
	for r := range names {
		if c.limits[r] == 0 || quantityOf(r, requests[r]) != quantityOf(r, c.limits[r]) {
			return false
		}
	}
	return true
}

// quantityOf writes an amount: CPU in whole millicores, memory in whole KiB.
func quantityOf(r int, v float64) string {
	var q resource.Quantity
	if r == cpu {
		q = v1alpha1.Millicores(v)
	} else {
		q = v1alpha1.Bytes(v)
	}
	return q.String()
}
