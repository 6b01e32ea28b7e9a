package simnode_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// requesting returns a container that requests cpu and memory amounts, alternating.
func requesting(amounts ...string) corev1.Container {
	list := corev1.ResourceList{}
	for i, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}[:len(amounts)] {
		list[name] = resource.MustParse(amounts[i])
	}
	return corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Requests: list}}
}

// staying returns a sidecar: an init container that starts first and keeps running.
func staying(amounts ...string) corev1.Container {
	c := requesting(amounts...)
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return c
}

func (r *rig) bind(t *testing.T, name string, annotations map[string]string, spec corev1.PodSpec) {
	t.Helper()
	spec.NodeName = "node-1"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Annotations: annotations},
		Spec:       spec,
	}
	if _, err := r.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

var forever = map[string]string{simnode.AnnotationIdle: "true"}

func containers(c ...corev1.Container) corev1.PodSpec { return corev1.PodSpec{Containers: c} }

// A pod that does not fit beside the running ones is rejected; the end of one, its deletion with any
// grace period and its disappearance free room.
func TestFleetRejectsWhatDoesNotFit(t *testing.T) {
	r := newRig(t, simnode.Config{Params: simnode.Params{Cores: 2, Memory: 1 << 30}})
	pods := r.client.CoreV1().Pods("default")
	rejected := func(name, reason string, spec corev1.PodSpec) {
		t.Helper()
		r.bind(t, name, nil, spec)
		r.want(t, name, "node-1", simnode.Bound, simnode.Failed)
		pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := pod.Status
		if s.Phase != corev1.PodFailed || s.Reason != reason || !strings.Contains(s.Message, "enough resource") || len(s.ContainerStatuses) > 0 {
			t.Errorf("%s: %+v, want %s", name, s, reason)
		}
	}
	r.bind(t, "sleeper", forever, containers(requesting("1300m", "512Mi")))
	r.want(t, "sleeper", "node-1", simnode.Bound, simnode.Running)
	rejected("cpu", "OutOfcpu", containers(requesting("400m"), requesting("301m")))
	rejected("memory", "OutOfmemory", containers(requesting("0", "513Mi")))
	rejected("init", "OutOfcpu", corev1.PodSpec{InitContainers: []corev1.Container{requesting("701m")}, Containers: []corev1.Container{requesting("1m")}})
	rejected("beside", "OutOfcpu", corev1.PodSpec{InitContainers: []corev1.Container{staying("300m"), requesting("401m")}})
	rejected("overhead", "OutOfcpu", corev1.PodSpec{Containers: []corev1.Container{requesting("700m")}, Overhead: requesting("1m").Resources.Requests})
	rejected("whole", "OutOfcpu", corev1.PodSpec{Containers: []corev1.Container{requesting("1m")}, Resources: new(requesting("701m").Resources)})

	// A pod that fits exactly is admitted; a rejected pod leaves nothing behind, and an ended one frees
	// all it had.
	for _, name := range []string{"fits", "again"} {
		r.bind(t, name, map[string]string{simnode.AnnotationWork: "1"}, corev1.PodSpec{
			InitContainers: []corev1.Container{requesting("700m"), staying("300m"), requesting("400m")}, Containers: []corev1.Container{requesting("400m", "512Mi")},
		})
		r.want(t, name, "node-1", simnode.Bound, simnode.Running, simnode.Succeeded)
	}
	// The deletion of a pod that ended or never ran frees nothing, and the pod is not killed.
	for _, name := range []string{"cpu", "fits", "again"} {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	rejected("still", "OutOfcpu", containers(requesting("701m")))
	if err := pods.Delete(t.Context(), "sleeper", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "sleeper", "node-1", simnode.Killed)
	r.bind(t, "all", forever, containers(requesting("2", "1Gi")))
	r.want(t, "all", "node-1", simnode.Bound, simnode.Running)
	all, err := pods.Get(t.Context(), "all", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rejected("full", "OutOfcpu", containers(requesting("1m")))
	all.DeletionTimestamp = new(metav1.Now()) // with a grace period, so that the kubelet removes it
	if _, err := pods.Update(t.Context(), all, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "all", "node-1", simnode.Killed)
	r.bind(t, "last", forever, containers(requesting("2", "1Gi")))
	r.want(t, "last", "node-1", simnode.Bound, simnode.Running)
}

// A node admits as many pods as a kubelet does, whatever they request.
func TestFleetRejectsTooManyPods(t *testing.T) {
	r := newRig(t, simnode.Config{})
	running := map[string]bool{}
	for i := range simnode.MaxPods {
		r.bind(t, "pod-"+string(rune('a'+i%26))+string(rune('a'+i/26)), forever, containers(requesting()))
	}
	for len(running) < simnode.MaxPods {
		if s := <-r.seen; s.Phase == simnode.Running {
			running[s.Name] = true
		}
	}
	r.bind(t, "more", forever, containers(requesting()))
	r.want(t, "more", "node-1", simnode.Bound, simnode.Failed)
	pod, err := r.client.CoreV1().Pods("default").Get(t.Context(), "more", metav1.GetOptions{})
	if err != nil || pod.Status.Reason != "OutOfpods" {
		t.Errorf("%+v, %v", pod.Status, err)
	}
}
