package simnode_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/simnode"
)

// rig is a kubelet over one simulated node, a hundred times as fast as life.
type rig struct {
	client *fake.Clientset
	node   *simnode.Node
	seen   chan seen
	stop   func()
}

type seen struct {
	Name  string
	Phase simnode.Phase
}

func newRig(t *testing.T) *rig {
	t.Helper()
	clock := simnode.NewClock(time.Now(), 100)
	node, err := simnode.NewNode("node-1", simnode.Params{}, clock)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{client: fake.NewClientset(), node: node, seen: make(chan seen, 100)}
	kubelet := simnode.NewKubelet(simnode.KubeletConfig{
		Client:   r.client,
		Clock:    clock,
		Machines: []simnode.Machine{node},
		Observer: func(pod types.NamespacedName, _ string, tr simnode.Transition) {
			r.seen <- seen{pod.Name, tr.Phase}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	synced := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		if err := kubelet.Run(ctx, synced); err != nil {
			t.Error(err)
		}
	})
	r.stop = func() { cancel(); running.Wait() }
	t.Cleanup(r.stop)
	<-synced
	return r
}

func (r *rig) create(t *testing.T, name, node string, annotations map[string]string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), Annotations: annotations,
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	if _, err := r.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) want(t *testing.T, name string, phases ...simnode.Phase) {
	t.Helper()
	for _, phase := range phases {
		if diff := cmp.Diff(seen{name, phase}, <-r.seen); diff != "" {
			t.Fatalf("observed (-want +got):\n%s", diff)
		}
	}
}

func TestKubeletRunsBoundPods(t *testing.T) {
	r := newRig(t)
	r.create(t, "elsewhere", "node-2", nil)
	r.create(t, "a", "node-1", map[string]string{simnode.AnnotationWork: "2.5"})
	r.want(t, "a", simnode.Bound, simnode.Running, simnode.Succeeded)
	pod, err := r.client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Status.Phase != corev1.PodSucceeded {
		t.Errorf("phase %s in the API", pod.Status.Phase)
	}
}

// A busy API server may give up on a status; the kubelet does not.
func TestKubeletRepeatsTimedOutWrites(t *testing.T) {
	r := newRig(t)
	var left atomic.Int32
	left.Store(3)
	r.client.PrependReactor("patch", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
		if left.Add(-1) >= 0 {
			return true, nil, apierrors.NewTimeoutError("busy", 1)
		}
		return false, nil, nil
	})
	r.create(t, "a", "node-1", map[string]string{simnode.AnnotationWork: "0.1"})
	r.want(t, "a", simnode.Bound, simnode.Running, simnode.Succeeded)
}

func TestKubeletFailsPodsItCannotRun(t *testing.T) {
	r := newRig(t)
	r.create(t, "a", "node-1", map[string]string{simnode.AnnotationWork: "much"})
	r.want(t, "a", simnode.Bound, simnode.Failed)
}

func TestKubeletKillsDeletedPods(t *testing.T) {
	r := newRig(t)
	r.create(t, "a", "node-1", map[string]string{simnode.AnnotationWork: "1e6"})
	r.want(t, "a", simnode.Bound, simnode.Running)
	if err := r.client.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "a", simnode.Killed)
}

func TestKubeletTellsOfPodsDeletedUnbound(t *testing.T) {
	r := newRig(t)
	r.create(t, "a", "", nil)
	if err := r.client.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "a", simnode.Killed)
}

func TestPodOf(t *testing.T) {
	fallback := 3 * time.Second
	tests := []struct {
		name        string
		annotations map[string]string
		want        simnode.Pod
		fails       bool
	}{
		{"nothing declared", nil, simnode.Pod{
			UID: "u", Work: simnode.DefaultWork, Memory: simnode.DefaultMemory, Startup: fallback,
		}, false},
		{"everything declared", map[string]string{
			simnode.AnnotationWork: "1.5", simnode.AnnotationMemory: "1Gi", simnode.AnnotationStartup: "0.25",
		}, simnode.Pod{
			UID: "u", Work: 1500 * time.Millisecond, Memory: 1 << 30, Startup: 250 * time.Millisecond,
		}, false},
		{"no number", map[string]string{simnode.AnnotationWork: "x"}, simnode.Pod{}, true},
		{"negative", map[string]string{simnode.AnnotationStartup: "-1"}, simnode.Pod{}, true},
		{"NaN", map[string]string{simnode.AnnotationWork: "NaN"}, simnode.Pod{}, true},
		{"endless", map[string]string{simnode.AnnotationWork: "1e300"}, simnode.Pod{}, true},
		{"no quantity", map[string]string{simnode.AnnotationMemory: "lots"}, simnode.Pod{}, true},
		{"negative quantity", map[string]string{simnode.AnnotationMemory: "-1Gi"}, simnode.Pod{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Annotations: test.annotations}}
			got, err := simnode.PodOf(pod, fallback)
			if test.fails != (err != nil) {
				t.Fatalf("error %v", err)
			}
			if err == nil && !cmp.Equal(test.want, got) {
				t.Errorf("pod (-want +got):\n%s", cmp.Diff(test.want, got))
			}
		})
	}
}

func TestRegister(t *testing.T) {
	client := fake.NewClientset()
	for range 2 { // a second time is no error
		spec := simnode.NodeSpec{Name: "node-1", Cores: 4, Memory: 1 << 34}
		if err := simnode.Register(t.Context(), client, spec); err != nil {
			t.Fatal(err)
		}
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(node.Status.Allocatable.Cpu(), " ", node.Status.Allocatable.Memory(), " ",
		node.Status.Allocatable.Pods(), " ", node.Status.Conditions[0].Type, " ", node.Status.Conditions[0].Status)
	if want := "4 16Gi 110 Ready True"; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
}
