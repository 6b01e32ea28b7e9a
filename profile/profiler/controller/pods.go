package controller

import (
	"runtime/debug"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/reserve"
)

// podStore passes pods on to the profiler's Store and keeps none. Its methods are
// called by one reflector.
type podStore struct {
	store   *profiler.Store
	unknown func(profile.Workload)
	synced  chan struct{}
	once    sync.Once
}

// slimPod is a pod stripped on arrival.
type slimPod struct {
	namespace, name string
	pod             profiler.Pod
}

// GetObjectMeta is what a list in progress distinguishes pods by.
func (p *slimPod) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}
}

// slimmed strips the pods of a list in progress.
func slimmed(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return &slimPod{pod.Namespace, pod.Name, PodOf(pod)}, nil
	}
	return object, nil
}

func slim(object any) (profiler.Pod, bool) {
	switch o := object.(type) {
	case *slimPod:
		return o.pod, true
	case *corev1.Pod:
		return PodOf(o), true
	}
	return profiler.Pod{}, false
}

func (s *podStore) note(object any) {
	if pod, ok := slim(object); ok && s.store.Pod(time.Now(), pod) {
		s.unknown(pod.Workload)
	}
}

func (s *podStore) remove(object any) {
	if pod, ok := slim(object); ok {
		s.store.Gone(time.Now(), pod.UID)
	}
}

func (s *podStore) replace(objects []any) {
	pods := make([]profiler.Pod, 0, len(objects))
	for i, o := range objects {
		if pod, ok := slim(o); ok {
			pods = append(pods, pod)
		}
		objects[i] = nil
	}
	for _, of := range s.store.Pods(time.Now(), pods) {
		s.unknown(of)
	}
	s.once.Do(func() {
		debug.FreeOSMemory() // the list took many times what is kept
		close(s.synced)
	})
}

// PodOf returns what a Store keeps of a pod.
func PodOf(p *corev1.Pod) profiler.Pod {
	of, revision, template := profile.Identify(metaOf(p))
	return profiler.Pod{
		UID: string(p.UID), Mirrors: p.Annotations[corev1.MirrorPodAnnotationKey], Node: p.Spec.NodeName, Workload: of, Revision: revision, Template: template, Created: p.CreationTimestamp.Time,
		Always: p.Spec.RestartPolicy == corev1.RestartPolicyAlways, Containers: containersOf(p), Names: namesOf(p), PartOf: p.Labels[partOf],
	}
}

// partOf is Kubernetes' recommended label of who belongs together.
const partOf = "app.kubernetes.io/part-of"

// namesOf are the containers that go on: init containers too, that are restarted
// always.
func namesOf(p *corev1.Pod) (names []string) {
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			names = append(names, c.Name)
		}
	}
	for i := range p.Spec.Containers {
		names = append(names, p.Spec.Containers[i].Name)
	}
	return names
}

func metaOf(p *corev1.Pod) profile.Meta {
	m := v1alpha1.MetaOf(p)
	m.Node = p.Spec.NodeName
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		m.Containers = append(m.Containers, profile.Container{
			Name: c.Name, Image: c.Image, Command: append(c.Command[:len(c.Command):len(c.Command)], c.Args...),
			Requests: texts(c.Resources.Requests), Limits: texts(c.Resources.Limits),
		})
	}
	return m
}

func texts(list corev1.ResourceList) map[string]string {
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]string, len(list))
	for name, q := range list {
		m[string(name)] = q.String()
	}
	return m
}

// containersOf names those of a pod with more than one, by the keys of their IDs: of
// a container that runs again, of the last one too.
func containersOf(p *corev1.Pod) (all []profiler.Container) {
	if len(p.Status.ContainerStatuses)+len(p.Status.InitContainerStatuses) < 2 {
		return nil
	}
	add := func(id, name string) {
		if _, id, ok := strings.Cut(id, "://"); ok && id != "" {
			all = append(all, profiler.Container{Key: uint64(reserve.KeyOf(id)), Name: name})
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			s := &statuses[i]
			add(s.ContainerID, s.Name)
			if last := s.LastTerminationState.Terminated; last != nil && last.ContainerID != s.ContainerID {
				add(last.ContainerID, s.Name)
			}
		}
	}
	return all
}
