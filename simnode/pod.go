package simnode

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Annotations a pod carries to say what it will do. They are for the simulated
// work alone: no scheduler knows them.
const (
	// AnnotationWork is the CPU time of the pod's thread in seconds.
	AnnotationWork = "spazio-scheduler.github.io/cpu-seconds"
	// AnnotationMemory is the memory it takes, as a Kubernetes quantity.
	AnnotationMemory = "spazio-scheduler.github.io/memory"
	// AnnotationStartup is the seconds from its bind to its running state; the
	// default is drawn from [StartupLatency].
	AnnotationStartup = "spazio-scheduler.github.io/startup-seconds"
)

// What a pod without annotations does.
const (
	DefaultWork   = 5 * time.Second
	DefaultMemory = 64 << 20
)

// Pod is the work that one pod brings to a node.
type Pod struct {
	UID string
	// Work is the CPU time of its single thread.
	Work time.Duration
	// Memory in bytes, held while it runs.
	Memory float64
	// Startup is the time from the bind to the running state.
	Startup time.Duration
}

func (p Pod) validate() error {
	switch {
	case p.UID == "":
		return refuse(ErrBadPod, "UID", p.UID, "set")
	case p.Work < 0:
		return refuse(ErrBadPod, "Work", p.Work, "at least 0")
	case p.Memory < 0 || math.IsNaN(p.Memory) || math.IsInf(p.Memory, 0):
		return refuse(ErrBadPod, "Memory", p.Memory, "a finite number of bytes, at least 0")
	case p.Startup < 0:
		return refuse(ErrBadPod, "Startup", p.Startup, "at least 0")
	}
	return nil
}

// podOf reads what a pod will do from its annotations; startup stands in for a
// missing start-up latency.
func podOf(pod *corev1.Pod, startup time.Duration) (Pod, error) {
	p := Pod{UID: string(pod.UID), Work: DefaultWork, Memory: DefaultMemory, Startup: startup}
	var err error
	if s, ok := pod.Annotations[AnnotationWork]; ok {
		if p.Work, err = parseSeconds(AnnotationWork, s); err != nil {
			return Pod{}, err
		}
	}
	if s, ok := pod.Annotations[AnnotationStartup]; ok {
		if p.Startup, err = parseSeconds(AnnotationStartup, s); err != nil {
			return Pod{}, err
		}
	}
	if s, ok := pod.Annotations[AnnotationMemory]; ok {
		q, err := resource.ParseQuantity(s)
		if err != nil {
			return Pod{}, refuse(ErrBadPod, AnnotationMemory, s, "a quantity, such as 64Mi")
		}
		p.Memory = q.AsApproximateFloat64()
	}
	return p, p.validate()
}

// maxSeconds keeps a duration far from the end of its range: thirty years.
const maxSeconds = 1e9

func parseSeconds(annotation, s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= maxSeconds) {
		return 0, refuse(ErrBadPod, annotation, s, "a number of seconds")
	}
	return time.Duration(v * float64(time.Second)), nil
}

// FormatSeconds writes d as the annotations want it.
func FormatSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// StartupLatency draws the time from a pod's bind to its running state.
func StartupLatency(rng *rand.Rand) time.Duration {
	return time.Duration(node.StartupLatency(rng) * float64(time.Second))
}
