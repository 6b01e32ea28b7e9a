package gangs

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
)

// rig is a scheduler with nodes of a given number of places.
type rig struct {
	client kubernetes.Interface
	hub    *plugin.Hub
	nodes  []*cluster.PlaceNode
	log    *cluster.Log
}

func newRig(t *testing.T, nodes, places int) *rig {
	t.Helper()
	client, kubeconfig := cluster.Connect(t)
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{})
	r := &rig{client: client, hub: hub, nodes: cluster.NewPlaceNodes(t, client, nodes, places, hub.Addr().String())}
	cluster.WaitSignals(t, hub, "fresh", nodes)
	r.log = cluster.Watch(t, client)
	return r
}

// submit creates a gang of so many pods, none of which starts unless all do.
func (r *rig) submit(t *testing.T, name string, pods int) {
	t.Helper()
	groups := r.client.SchedulingV1beta1().PodGroups(metav1.NamespaceDefault)
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(pods)},
		}},
	}
	if _, err := groups.Create(t.Context(), group, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cluster.Remove(t, r.client)
		if err := groups.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for i := range pods {
		pod := cluster.Batch{Prefix: name, Work: time.Hour}.Pod(i)
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
		if _, err := r.client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// bound returns how many pods were bound whose names begin with the prefix.
func (r *rig) bound(prefix string) (n int) {
	for _, on := range r.log.Bindings().PerNode(prefix) {
		n += on
	}
	return n
}

// tries returns how often the plugin has looked for nodes for the pods of a gang.
func (r *rig) tries(t *testing.T, name string, pods int) (n int) {
	t.Helper()
	for i := range pods {
		e, err := r.hub.Explain(metav1.NamespaceDefault + "/" + cluster.Batch{Prefix: name}.Pod(i).Name)
		if err != nil {
			continue
		}
		for _, step := range e.Steps {
			if step.Tries != nil {
				n += step.Tries.Count
			}
		}
	}
	return n
}

// TestGangWaitsForAllOfItsRoom: while four places are free, six pods that go together take none of
// them, and other pods do. The gang is tried again when there is more room and by kube-scheduler's own
// back-off, and not because its last trial gave room back. All six start as soon as there is room.
func TestGangWaitsForAllOfItsRoom(t *testing.T) {
	const size = 6
	r := newRig(t, 2, 2)
	r.submit(t, "gang", size)
	cluster.Eventually(t, "the gang was tried", func() (bool, any) { return r.tries(t, "gang", size) > 0, nil })
	cluster.Submit(t, r.client, cluster.Batch{Prefix: "single", Pods: 40, Work: 200 * time.Millisecond})
	r.log.WaitSucceeded(t, 40)
	before := r.tries(t, "gang", size)
	cluster.Submit(t, r.client, cluster.Batch{Prefix: "long", Pods: 1, Work: 4 * time.Second})
	r.log.WaitSucceeded(t, 41)
	if tries := r.tries(t, "gang", size) - before; tries > 10*size {
		t.Errorf("%d tries of the gang's pods while nothing changed", tries)
	}
	if n := r.bound("gang"); n > 0 {
		t.Fatalf("%d pods of the gang are bound where there is room for four", n)
	}
	for _, n := range r.nodes {
		n.Set(3, false)
	}
	cluster.Eventually(t, "the gang is bound", func() (bool, any) { return r.bound("gang") == size, r.bound("gang") })
	cluster.CheckHeld(t, r.nodes)
	cluster.CheckNothingLeft(t, r.client, r.hub)
}

// TestGangsDoNotBlockEachOther: of two gangs that fit alone but not together one runs, and then the
// other.
func TestGangsDoNotBlockEachOther(t *testing.T) {
	const size = 3
	r := newRig(t, 2, 2)
	for _, name := range []string{"one", "two"} {
		r.submit(t, name, size)
	}
	for running := 1; running <= 2; running++ {
		r.log.WaitBound(t, running*size)
		var whole []string
		for _, name := range []string{"one", "two"} {
			switch n := r.bound(name); n {
			case 0:
			case size:
				whole = append(whole, name)
			default:
				t.Errorf("%d of %d pods of gang %s are bound", n, size, name)
			}
		}
		if len(whole) != running {
			t.Fatalf("the gangs that ran are %v, want %d", whole, running)
		}
		r.remove(t, whole)
	}
	cluster.CheckHeld(t, r.nodes)
	cluster.CheckNothingLeft(t, r.client, r.hub)
}

// remove deletes the pods of gangs.
func (r *rig) remove(t *testing.T, names []string) {
	t.Helper()
	pods := r.client.CoreV1().Pods(metav1.NamespaceDefault)
	all, err := pods.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range all.Items {
		for _, name := range names {
			if strings.HasPrefix(pod.Name, name+"-") {
				if err := pods.Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
					t.Error(fmt.Errorf("delete %s: %w", pod.Name, err))
				}
			}
		}
	}
}
