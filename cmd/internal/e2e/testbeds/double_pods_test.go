package testbeds

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// decode reads the application's spec.
func (a *application) decode(spec any) error {
	text, err := json.Marshal(a.object.Object["spec"])
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, spec); err != nil {
		return refuse("spec", string(text), err.Error())
	}
	return nil
}

// podsOf returns the application's pods that have the labels.
func (a *application) podsOf(set labels.Set) ([]*corev1.Pod, error) {
	return a.pods.Pods(a.object.GetNamespace()).List(labels.SelectorFromSet(set))
}

// neverEnding returns annotations of a pod with the given usage that runs until it is stopped.
func neverEnding(given map[string]string) map[string]string {
	never := maps.Clone(given)
	if never == nil {
		never = map[string]string{}
	}
	if _, ok := never[simnode.AnnotationCores]; ok {
		never[simnode.AnnotationWork] = simnode.FormatSeconds(maxWork)
		return never
	}
	delete(never, simnode.AnnotationWork)
	never[simnode.AnnotationIdle] = "true"
	return never
}

// maxWork is the longest work of a simulated pod: thirty years of a core.
const maxWork = 1e9 * time.Second

// work returns an application's duration from its pods' annotations.
func work(annotations map[string]string) (time.Duration, error) {
	given, ok := annotations[simnode.AnnotationWork]
	if !ok {
		return simnode.DefaultWork, nil
	}
	seconds, err := strconv.ParseFloat(given, 64)
	if err != nil || !(seconds >= 0 && seconds <= maxWork.Seconds()) {
		return 0, refuse(simnode.AnnotationWork, given, "a number of seconds")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// ended reports whether a pod will never run again.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// runningSince returns the number of running pods, and the start of the last one.
func runningSince(pods []*corev1.Pod) (running int, since time.Time) {
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		running++
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Running != nil && c.State.Running.StartedAt.After(since) {
				since = c.State.Running.StartedAt.Time
			}
		}
	}
	return running, since
}

// apply applies a template to a pod, except for its containers' names.
func apply(template *corev1.PodTemplateSpec, pod *corev1.PodTemplateSpec) {
	if template == nil {
		return
	}
	pod.Labels = merge(template.Labels, pod.Labels)
	pod.Annotations = merge(template.Annotations, pod.Annotations)
	container := pod.Spec.Containers[0]
	pod.Spec = *template.Spec.DeepCopy()
	for _, c := range pod.Spec.Containers {
		if c.Name == container.Name || len(pod.Spec.Containers) == 1 {
			container.Env = append(container.Env, c.Env...)
		}
	}
	pod.Spec.Containers = []corev1.Container{container}
}

// merge returns both, with the second one's values on conflicts.
func merge(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
