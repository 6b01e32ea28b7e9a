package simnode_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// A machine gets the idle pods and the cores that pods declare.
func TestFleetReadsIdleAndCores(t *testing.T) {
	p := newPlace("mine")
	r := newRig(t, simnode.Config{Machines: []simnode.Machine{p}})
	for _, test := range []struct {
		annotations map[string]string
		role        string
		want        simnode.Pod
	}{
		{map[string]string{simnode.AnnotationCores: "2.5"}, "", simnode.Pod{Cores: 2.5, Work: simnode.DefaultWork, Memory: simnode.DefaultMemory}},
		{map[string]string{simnode.AnnotationIdle: "true", simnode.AnnotationMemory: "1Gi"}, "", simnode.Pod{Idle: true}},
		{map[string]string{simnode.AnnotationIdle: "true", simnode.AnnotationWork: "3"}, "", simnode.Pod{Idle: true, Work: 3 * time.Second}},
		{map[string]string{simnode.AnnotationIdle: "false", simnode.AnnotationWork: "3"}, "slot", simnode.Pod{Work: 3 * time.Second, Memory: simnode.DefaultMemory}},
		{map[string]string{simnode.AnnotationIdle: "false", simnode.AnnotationWork: "3"}, "placeholder", simnode.Pod{Idle: true}},
		{nil, "placeholder", simnode.Pod{Idle: true}},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", Annotations: test.annotations},
			Spec:       corev1.PodSpec{NodeName: "mine"},
		}
		if test.role != "" {
			pod.Labels = map[string]string{"testbed.spazio-scheduler.github.io/role": test.role}
		}
		if _, err := r.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		got := <-p.bound
		test.want.UID, test.want.Startup = "a", got.Startup
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v, %s: %s", test.annotations, test.role, diff)
		}
		if err := r.client.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		r.want(t, "a", "mine", simnode.Bound, simnode.Killed)
	}
	for annotation, value := range map[string]string{simnode.AnnotationIdle: "maybe", simnode.AnnotationCores: "0"} {
		r.create(t, annotation[len(annotation)-4:], "mine", map[string]string{annotation: value})
		err := <-r.errs
		var name *field.Error
		if !errors.As(err, &name) || name.Field != annotation || name.Value != value || !errors.Is(err, simnode.ErrBadPod) {
			t.Errorf("%s = %s: error %v", annotation, value, err)
		}
	}
}

// Sleeping pods use nothing of a node, and others the cores that they declare.
func TestNodeUsesDeclaredCores(t *testing.T) {
	for _, test := range []struct {
		pod         simnode.Pod
		least, most float64 // of the channel, which is ½ with all eight cores busy
	}{
		{simnode.Pod{Idle: true}, 0, .05},
		{simnode.Pod{Work: time.Hour}, .05, .15},
		{simnode.Pod{Work: time.Hour, Cores: 4}, .2, .35},
	} {
		clock := simnode.NewClock(time.Now(), 1)
		node, err := simnode.NewNode(simnode.NodeConfig{Name: "n", Params: simnode.Params{Cores: 8}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		test.pod.UID = "a"
		if err := node.Bind(test.pod); err != nil {
			t.Fatal(err)
		}
		now := clock.Now().Add(10 * time.Second)
		if _, err := node.SampleTo(nil, now); err != nil {
			t.Fatal(err)
		}
		sample, err := node.SampleTo(nil, now.Add(100*time.Second))
		if err != nil || sample[0] < test.least || sample[0] > test.most {
			t.Errorf("%+v: sample %v, %v, want %v to %v", test.pod, sample, err, test.least, test.most)
		}
		if err := node.Bind(test.pod); !errors.Is(err, simnode.ErrDuplicatePod) {
			t.Errorf("%+v twice: %v", test.pod, err)
		}
		node.Kill("a")
		if err := node.Bind(test.pod); err != nil {
			t.Errorf("%+v after it was killed: got %v", test.pod, err)
		}
	}
	node, err := simnode.NewNode(simnode.NodeConfig{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cores := range []float64{-1, 1e9} {
		if err := node.Bind(simnode.Pod{UID: "a", Cores: cores}); !errors.Is(err, simnode.ErrBadPod) {
			t.Errorf("%v cores: %v", cores, err)
		}
	}
}

// Sleeping pods start and end on time among working ones, or never end.
func TestIdlePodsEnd(t *testing.T) {
	timed := simnode.NewTimed(simnode.NodeSpec{Name: "timed", Cores: 4, Memory: 1 << 30}, nil)
	r := newRig(t, simnode.Config{Nodes: 1, Machines: []simnode.Machine{timed}})
	for _, node := range []string{"node-1", "timed"} {
		r.create(t, "forever-"+node, node, map[string]string{simnode.AnnotationIdle: "true", simnode.AnnotationStartup: "0.01"})
		r.want(t, "forever-"+node, node, simnode.Bound, simnode.Running)
		r.create(t, "sleeps-"+node, node, map[string]string{
			simnode.AnnotationIdle: "true", simnode.AnnotationWork: "0.02", simnode.AnnotationStartup: "0.01",
		})
		r.want(t, "sleeps-"+node, node, simnode.Bound, simnode.Running, simnode.Succeeded)
		r.create(t, "works-"+node, node, map[string]string{simnode.AnnotationWork: "0.02", simnode.AnnotationStartup: "0.01"})
		r.want(t, "works-"+node, node, simnode.Bound, simnode.Running, simnode.Succeeded)
		if err := r.client.CoreV1().Pods("default").Delete(t.Context(), "forever-"+node, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		r.want(t, "forever-"+node, node, simnode.Killed)
	}
}

// An agent gets sleeping pods like any others.
func TestAgentGetsIdlePods(t *testing.T) {
	node, err := simnode.NewNode(simnode.NodeConfig{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range []simnode.Pod{{UID: "works", Work: time.Hour}, {UID: "sleeps", Idle: true}} {
		if err := node.Bind(pod); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := node.SampleTo(nil, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	want := telemetry.RunningPods("sleeps", "works")
	if err := node.Pods().Run(ctx, func(e telemetry.PodEvent) {
		if cmp.Equal(want, e.Pods) {
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
}
