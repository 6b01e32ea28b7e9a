package simnode

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Annotations a pod carries to say what it will do. They are for the simulated
// work alone: neither scheduler sees them.
const (
	// AnnotationWork is the CPU time of the pod's thread in seconds.
	AnnotationWork = "spazio-scheduler.github.io/cpu-seconds"
	// AnnotationMemory is the memory it takes, as a Kubernetes quantity.
	AnnotationMemory = "spazio-scheduler.github.io/memory"
	// AnnotationStartup is the seconds from its bind to its running state.
	AnnotationStartup = "spazio-scheduler.github.io/startup-seconds"
)

// What a pod without annotations does.
const (
	DefaultWork   = 5 * time.Second
	DefaultMemory = 64 << 20
)

// Machine runs the pods of one node. Implementations are safe for concurrent
// use.
type Machine interface {
	Name() string
	// Bind starts a pod; its phases are emitted by Run.
	Bind(p Pod) error
	// Kill ends a pod, if it is there.
	Kill(uid string)
	// Run drives the machine and calls emit for each transition, in order for
	// each pod, until ctx ends; then it returns nil with every pod gone.
	Run(ctx context.Context, emit func(Transition)) error
}

// PodOf reads what a pod will do from its annotations; startup stands in for a
// missing start-up latency.
func PodOf(pod *corev1.Pod, startup time.Duration) (Pod, error) {
	p := Pod{UID: string(pod.UID), Work: DefaultWork, Memory: DefaultMemory, Startup: startup}
	var err error
	if s, ok := pod.Annotations[AnnotationWork]; ok {
		if p.Work, err = parseSeconds(s); err != nil {
			return Pod{}, fmt.Errorf("%w: annotation %s: %w", ErrBadPod, AnnotationWork, err)
		}
	}
	if s, ok := pod.Annotations[AnnotationStartup]; ok {
		if p.Startup, err = parseSeconds(s); err != nil {
			return Pod{}, fmt.Errorf("%w: annotation %s: %w", ErrBadPod, AnnotationStartup, err)
		}
	}
	if s, ok := pod.Annotations[AnnotationMemory]; ok {
		q, err := resource.ParseQuantity(s)
		if err != nil {
			return Pod{}, fmt.Errorf("%w: annotation %s: %w", ErrBadPod, AnnotationMemory, err)
		}
		p.Memory = q.AsApproximateFloat64()
	}
	return p, p.validate()
}

// maxSeconds keeps a duration far from the end of its range: thirty years.
const maxSeconds = 1e9

func parseSeconds(s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, err
	}
	if !(v >= 0 && v <= maxSeconds) {
		return 0, fmt.Errorf("%q is not a number of seconds", s)
	}
	return time.Duration(v * float64(time.Second)), nil
}

// FormatSeconds writes d as the annotations want it.
func FormatSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}
