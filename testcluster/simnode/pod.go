package simnode

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// Annotations a pod carries to say what it will do. They are for the simulated
// work alone: no scheduler knows them.
const (
	// AnnotationWork is the CPU time that ends the pod in seconds, of an idle one the
	// time.
	AnnotationWork = "spazio-scheduler.github.io/cpu-seconds"
	// AnnotationCores is how many cores it takes while nothing holds it up; the
	// default is 1.
	AnnotationCores = "spazio-scheduler.github.io/cores"
	// AnnotationIdle is true for a pod that takes nothing of its node, as one that
	// sleeps. Without AnnotationWork it does so until it is deleted.
	AnnotationIdle = "spazio-scheduler.github.io/idle"
	// AnnotationMemory is the memory it takes, as a Kubernetes quantity.
	AnnotationMemory = "spazio-scheduler.github.io/memory"
	// AnnotationStartup is the seconds from its bind to its running state; the
	// default is drawn from [StartupLatency].
	AnnotationStartup = "spazio-scheduler.github.io/startup-seconds"
)

// A placeholder pod, which reserves a slot of a test bed, has this label. It sleeps forever, whatever
// its annotations: the operator that creates it does not know of simulated work.
const (
	labelRole       = "testbed.spazio-scheduler.github.io/role"
	rolePlaceholder = "placeholder"
)

// What a pod without annotations does.
const (
	DefaultWork   = 5 * time.Second
	DefaultMemory = 64 << 20
)

// Pod is the work that one pod brings to a node.
type Pod struct {
	UID string
	// Work is the CPU time that ends it.
	Work time.Duration
	// Cores is how many it works on while nothing holds it up; 0 means 1.
	Cores float64
	// Idle makes it sleep for the time of Work instead, or for ever if that is 0. It
	// takes no memory then.
	Idle bool
	// Memory in bytes, held while it runs.
	Memory float64
	// Startup is the time from the bind to the running state.
	Startup time.Duration
	// Args are the arguments of the pod's first container, by which a machine of the
	// caller's own making may tell what to run.
	Args []string
}

func (p Pod) validate() error {
	switch {
	case p.UID == "":
		return refuse(ErrBadPod, "UID", p.UID, "set")
	case p.Work < 0:
		return refuse(ErrBadPod, "Work", p.Work, "at least 0")
	case !(p.Cores >= 0 && p.Cores <= node.MaxThreads):
		return refuse(ErrBadPod, "Cores", p.Cores, fmt.Sprintf("at most %d", node.MaxThreads))
	case p.Memory < 0 || math.IsNaN(p.Memory) || math.IsInf(p.Memory, 0):
		return refuse(ErrBadPod, "Memory", p.Memory, "a finite number of bytes, at least 0")
	case p.Startup < 0:
		return refuse(ErrBadPod, "Startup", p.Startup, "at least 0")
	}
	return nil
}

// alone is the time that the pod takes where nothing holds it up; ok is false if it
// does not end.
func (p Pod) alone() (d time.Duration, ok bool) {
	switch {
	case p.Idle:
		return p.Work, p.Work > 0
	case p.Cores > 0:
		return time.Duration(min(float64(p.Work)/p.Cores, math.MaxInt64)), true
	}
	return p.Work, true
}

// podOf reads what a pod will do from its annotations; startup stands in for a
// missing start-up latency.
func podOf(pod *corev1.Pod, startup time.Duration) (Pod, error) {
	p := Pod{UID: string(pod.UID), Work: DefaultWork, Memory: DefaultMemory, Startup: startup}
	if len(pod.Spec.Containers) > 0 {
		p.Args = slices.Clone(pod.Spec.Containers[0].Args)
	}
	var err error
	if s, ok := pod.Annotations[AnnotationIdle]; ok {
		if p.Idle, err = strconv.ParseBool(s); err != nil {
			return Pod{}, refuse(ErrBadPod, AnnotationIdle, s, "true or false")
		}
	}
	placeholder := pod.Labels[labelRole] == rolePlaceholder
	if p.Idle = p.Idle || placeholder; p.Idle {
		p.Work, p.Memory = 0, 0
	}
	if s, ok := pod.Annotations[AnnotationCores]; ok {
		if p.Cores, err = strconv.ParseFloat(s, 64); err != nil || !(p.Cores > 0) {
			return Pod{}, refuse(ErrBadPod, AnnotationCores, s, "a number of cores above 0")
		}
	}
	if s, ok := pod.Annotations[AnnotationWork]; ok && !placeholder {
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
		if !p.Idle {
			p.Memory = q.AsApproximateFloat64()
		}
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
