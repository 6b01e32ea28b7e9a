package autoscale_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/profile"
)

// TestBufferAsksWithoutItsCondition: a buffer that exists asks for nodes, although its status could
// not be written.
func TestBufferAsksWithoutItsCondition(t *testing.T) {
	controller, err := autoscale.New(autoscale.Config{Namespace: "spazio"})
	if err != nil {
		t.Fatal(err)
	}
	buffers := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	buffers.PrependReactor("patch", "capacitybuffers", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() == "status" {
			return true, nil, errRefused
		}
		return true, &unstructured.Unstructured{}, nil
	})
	controller.Connect(fake.NewClientset(), buffers, nil, nil, time.Now)
	pod := &corev1.Pod{Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}}}
	asking, err := controller.Ask(t.Context(), []autoscale.Buffer{{Workload: "a", Replicas: 3}}, map[string]*corev1.Pod{"a": pod})
	if err == nil || !strings.Contains(err.Error(), "capacitybuffers/status") {
		t.Errorf("%v, want the error of the status", err)
	}
	if diff := cmp.Diff(map[string]int{"a": 3}, asking); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnnounce: the pods that have waited longest are announced, as many as the buffer asks for, and
// each once, although the buffer cannot be read or written for a while.
func TestAnnounce(t *testing.T) {
	controller, err := autoscale.New(autoscale.Config{Namespace: "spazio"})
	if err != nil {
		t.Fatal(err)
	}
	recorder := events.NewFakeRecorder(100)
	controller.Connect(nil, nil, nil, recorder, time.Now)
	workload := profile.Workload{Namespace: "default", Kind: "Workload", Name: "a"}
	var waiters []plugin.RoomWaiter
	for i := range 4 { // the last has waited longest
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}
		waiters = append(waiters, plugin.RoomWaiter{Pod: pod, Workload: workload, Since: time.Unix(int64(100-i), 0)})
	}
	buffer := "spazio/" + autoscale.NameOf(workload.String())
	for i, step := range []struct {
		replicas int
		want     map[types.UID]string
		recorded int
	}{
		{2, map[types.UID]string{"3": buffer, "2": buffer}, 2},
		{0, map[types.UID]string{}, 0},
		{3, map[types.UID]string{"3": buffer, "2": buffer, "1": buffer}, 1},
	} {
		got := controller.Announce(waiters, map[string]int{workload.String(): step.replicas})
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		if n := len(recorder.Events); n != step.recorded {
			t.Errorf("step %d: %d events, want %d", i, n, step.recorded)
		}
		for len(recorder.Events) > 0 {
			<-recorder.Events
		}
	}
}
