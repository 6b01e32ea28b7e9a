package waking

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/profile"
)

// TestShortestFirst: kube-scheduler's queue tries pods of a workload with short-lived pods before
// earlier pods of another workload, whether they are new in the queue or wait for room. Both profiles
// have the queue sort plugin, or the scheduler would not start.
func TestShortestFirst(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	args := plugin.SpazioArgs{Listen: "127.0.0.1:0", MaxAge: metav1.Duration{Duration: cluster.Patience}}
	hub, _ := cluster.RunScheduler(t, service.Config{Kubeconfig: kubeconfig, Args: args, ShortestFirst: true})
	node := cluster.NewPlaceNodes(t, client, 1, 0, hub.Addr().String())[0]
	cluster.WaitSignals(t, hub, "fresh", 1)
	for i := range 3 {
		live(t, client, fmt.Sprint("short-life-", i), "short", time.Second)
		live(t, client, fmt.Sprint("long-life-", i), "long", time.Hour)
	}
	log := cluster.Watch(t, client)
	for _, of := range []string{"long", "short"} {
		waiting := hub.Waiting()
		for i := range 2 {
			create(t, client, podOf(fmt.Sprint(of, "-", i), of))
		}
		cluster.Eventually(t, "all pods wait", func() (bool, any) { return hub.Waiting() == waiting+2, hub.Waiting() })
	}
	var order []string
	bound := log.Bindings()
	for places := range 4 {
		node.Set(places+1, false)
		log.WaitBound(t, places+1)
		for uid, b := range log.Bindings() {
			if _, known := bound[uid]; !known {
				order = append(order, b.Pod[:len(b.Pod)-2])
			}
		}
		bound = log.Bindings()
	}
	if want := []string{"short", "short", "long", "long"}; !slices.Equal(order, want) {
		t.Errorf("bound in the order %v, want %v", order, want)
	}
}

// live shows the scheduler the end of a workload's pod that was bound so long ago, on another node.
func live(t *testing.T, client kubernetes.Interface, name, workload string, life time.Duration) {
	t.Helper()
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	pod := podOf(name, workload)
	pod.Spec.NodeName = "elsewhere"
	pod = create(t, client, pod)
	pod.Status.Conditions = []v1.PodCondition{{
		Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-life)),
	}}
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
}

func podOf(name, workload string) *v1.Pod {
	pod := cluster.Batch{Work: time.Hour}.Pod(0)
	pod.Name = name
	pod.Annotations[profile.WorkloadAnnotation] = workload
	return pod
}

func create(t *testing.T, client kubernetes.Interface, pod *v1.Pod) *v1.Pod {
	t.Helper()
	made, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Remove(t, client) })
	return made
}
