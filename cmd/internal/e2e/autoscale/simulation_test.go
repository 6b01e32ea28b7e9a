package autoscale

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish/publishtest"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// simulation acts as cluster-autoscaler, which is not available as a module, by its documentation: pods
// of buffers fit by requests and required affinity; each pod that does not fit needs a new node, if it
// may run on a copy of an existing one; and a node with less than half of it requested is removed,
// unless an annotation forbids it.
type simulation struct {
	*rig
	// heeds makes it respect buffers and annotations.
	heeds bool
}

// look returns how many nodes of a size it would add, and which it would remove.
func (s simulation) look(t *testing.T, cores int64) (add int, remove []string) {
	t.Helper()
	nodes, err := s.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := s.client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]int64{} // in thousandths of a core
	for i := range nodes.Items {
		left[nodes.Items[i].Name] = nodes.Items[i].Status.Allocatable.Cpu().MilliValue()
	}
	pending := s.virtual(t)
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Spec.NodeName == "" {
			pending = append(pending, p)
		} else {
			left[p.Spec.NodeName] -= cpu(p)
		}
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if left[n.Name]*2 > n.Status.Allocatable.Cpu().MilliValue() && (!s.heeds || n.Annotations[drain] != "true") {
			remove = append(remove, n.Name)
		}
	}
	template := copyNode(&nodes.Items[0])
	fresh := int64(0) // remaining on the newest of the new nodes
	for _, p := range pending {
		i := slices.IndexFunc(nodes.Items, func(n corev1.Node) bool { return mayGo(p, &n) && left[n.Name] >= cpu(p) })
		switch {
		case i >= 0:
			left[nodes.Items[i].Name] -= cpu(p)
			continue
		case !mayGo(p, template):
			continue
		case fresh < cpu(p):
			add, fresh = add+1, cores*1000
		}
		fresh -= cpu(p)
	}
	return add, remove
}

// copyNode returns the simulated new node of a group with this node: with all of its labels, its own
// host name, and a label that identifies it.
func copyNode(n *corev1.Node) *corev1.Node {
	template := n.DeepCopy()
	template.Name = "template-node-for-group"
	template.Labels[corev1.LabelHostname] = template.Name
	template.Labels["cluster-autoscaler.kubernetes.io/template-node"] = "true"
	return template
}

func mayGo(p *corev1.Pod, n *corev1.Node) bool {
	fits, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return err == nil && fits
}

func cpu(p *corev1.Pod) int64 {
	requests := resource.PodRequests(p, resource.PodResourcesOptions{})
	return requests.Cpu().MilliValue()
}

// virtual returns the pods of all buffers.
func (s simulation) virtual(t *testing.T) (pods []*corev1.Pod) {
	t.Helper()
	if !s.heeds {
		return nil
	}
	found, _ := s.list(t)
	for _, b := range found {
		template, err := s.client.CoreV1().PodTemplates(namespace).Get(t.Context(), b.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue // the buffer is being deleted, or was replaced since the list
		}
		if err != nil {
			t.Fatal(err)
		}
		replicas, ok := b.Object["spec"].(map[string]any)["replicas"].(int64)
		if !ok {
			t.Fatalf("%v replicas", b.Object["spec"])
		}
		for range replicas {
			pods = append(pods, &corev1.Pod{ObjectMeta: template.Template.ObjectMeta, Spec: template.Template.Spec})
		}
	}
	return pods
}

// TestClusterAutoscalerAsDocumented: by requests alone an autoscaler adds nothing for waiting pods and
// removes busy nodes; by buffers and annotations it does the opposite.
func TestClusterAutoscalerAsDocumented(t *testing.T) {
	r := newRig(t)
	hub, _ := r.schedule(t, r.kubeconfig, "")
	size := simnode.NodeSpec{Cores: 16, Memory: 32 << 30}
	for i := range 3 {
		size.Name = fmt.Sprintf("busy-%d", i)
		n := newPlaceNode(t, r.client, size, 25, hub.Addr().String())
		n.SetUsage(publishtest.Usage{Cores: 16, Bytes: 32 << 30, PodCores: 0.4, PodBytes: 256 << 20})
	}
	cluster.WaitSignals(t, hub, "fresh", 3)
	log := cluster.Watch(t, r.client)
	submit(t, r, "base", 75, nil)
	log.WaitBound(t, 75)
	submit(t, r, "batch", 80, nil)
	shown := simulation{r, true}
	cluster.Eventually(t, "80 pods of 0.4 cores want two nodes of 16", func() (bool, any) {
		time.Sleep(50 * time.Millisecond)
		add, remove := shown.look(t, 16)
		return add == 2 && len(remove) == 0, []any{add, remove}
	})
	if add, remove := (simulation{r, false}).look(t, 16); add > 0 || len(remove) != 3 {
		t.Errorf("by requests alone: got %d to add, %v to remove", add, remove)
	}
}
