package cluster_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// watches signals the start of each watch of pods: the fake sends no event for objects added between a
// list and the following watch.
func watches(client *fake.Clientset) <-chan struct{} {
	begun := make(chan struct{}, 10)
	client.PrependWatchReactor("pods", func(a k8stesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(a.GetResource(), a.GetNamespace())
		begun <- struct{}{}
		return true, w, err
	})
	return begun
}

// bind puts every pod of the scheduler on the node.
func bind(t *testing.T, client kubernetes.Interface, scheduler, node string) {
	t.Helper()
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		if pod.Spec.SchedulerName != scheduler {
			continue
		}
		pod.Spec.NodeName = node
		if _, err := pods.Update(t.Context(), &pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRun: pods that a scheduler binds to a simulated node end there, and the end of the test leaves
// neither pods nor the unused node.
func TestRun(t *testing.T) {
	client := fake.NewClientset()
	begun := watches(client)
	client.PrependReactor("create", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
		pod := a.(k8stesting.CreateAction).GetObject().(*corev1.Pod)
		pod.UID = types.UID(pod.Name) // which an API server sets
		return false, nil, nil
	})
	client.PrependReactor("delete-collection", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
		list, err := client.Tracker().List(a.GetResource(), corev1.SchemeGroupVersion.WithKind("Pod"), metav1.NamespaceDefault)
		if err != nil {
			return true, nil, err
		}
		for _, pod := range list.(*corev1.PodList).Items { // the fake does not delete collections
			err = errors.Join(err, client.Tracker().Delete(a.GetResource(), pod.Namespace, pod.Name))
		}
		return true, nil, err
	})
	t.Run("batch", func(t *testing.T) {
		cluster.Register(t, client, "empty")
		nodes := cluster.Join(t, simnode.Config{Client: client, Nodes: 1, Params: simnode.Params{Cores: 8}, Clock: simnode.NewClock(time.Now(), 100)})
		log := cluster.Watch(t, client)
		<-begun
		<-begun
		batch := cluster.Batch{Prefix: "mine", Pods: 3, Scheduler: "mine", Startup: time.Second, Work: time.Second, Cores: 2, Node: "empty"}
		cluster.Submit(t, client, batch)
		cluster.Submit(t, client, cluster.Batch{Prefix: "other", Pods: 2})
		pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "mine-00002", metav1.GetOptions{})
		if err != nil || pod.Spec.NodeSelector[corev1.LabelHostname] != "empty" || pod.Spec.Containers[0].Resources.Requests.Cpu().Value() != 2 {
			t.Errorf("%+v, %v", pod.Spec, err)
		}
		bind(t, client, "mine", nodes[0].Name())
		log.WaitBound(t, 3)
		log.WaitSucceeded(t, 3)
	})
	pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("got remaining pods %v, %v", pods.Items, err)
	}
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "empty", metav1.GetOptions{}); err == nil {
		t.Error("the node still exists")
	}
}
