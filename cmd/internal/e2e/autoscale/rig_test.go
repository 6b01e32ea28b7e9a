package autoscale

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/node/publish/publishtest"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

const (
	namespace = "spazio-system"
	drain     = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	disrupt   = "karpenter.sh/do-not-disrupt"
)

var (
	buffers     = schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Resource: "capacitybuffers"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// rig is a control plane with CapacityBuffers.
type rig struct {
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	kubeconfig string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigWith(t, "testdata/capacitybuffers.yaml")
}

// newPlaceNode registers and runs a node of a given size. One that is already in the API server becomes
// ready, and stays when the test ends.
func newPlaceNode(t *testing.T, client kubernetes.Interface, spec simnode.NodeSpec, places int, schedulers ...string) *cluster.PlaceNode {
	t.Helper()
	n := &cluster.PlaceNode{Places: publishtest.NewPlaces(spec.Name, places)}
	n.Timed = simnode.NewTimed(spec, n.SetRunning)
	cluster.Join(t, simnode.Config{Client: client, Machines: []simnode.Machine{n}})
	if err := n.Places.StartAgent(publish.SignalsConfig{Targets: schedulers}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.KillAgent)
	return n
}

// newRigWith is newRig with the definition of CapacityBuffers in a file. Spazio's namespace enforces
// what the chart's does.
func newRigWith(t *testing.T, definition string) *rig {
	t.Helper()
	r := &rig{}
	r.client, r.kubeconfig = cluster.Connect(t)
	config := cluster.Plane(t).RESTConfig()
	config.ContentType = ""
	var err error
	if r.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	_, err = r.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, o := range cluster.ReadManifests(t, definition) {
		if _, err := r.dynamic.Resource(definitions).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "CapacityBuffers are served", func() (bool, any) {
		_, err := r.dynamic.Resource(buffers).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil, err
	})
	return r
}

// schedule runs a scheduler with the controller in this process, owned by a Deployment or by none.
func (r *rig) schedule(t *testing.T, kubeconfig, owner string) (hub *plugin.Hub, stop func()) {
	t.Helper()
	controller, err := autoscale.New(autoscale.Config{
		Namespace: namespace, Owner: owner,
		ScaleUpDelay: time.Second, ScaleDownDelay: 3 * time.Second, // that a test can wait for
	})
	if err != nil {
		t.Fatal(err)
	}
	args := plugin.SpazioArgs{Listen: "127.0.0.1:0", MaxAge: metav1.Duration{Duration: cluster.Patience}}
	return cluster.RunScheduler(t, service.Config{
		Kubeconfig: kubeconfig, Args: args, Autoscale: controller,
		Hub: plugin.NewHub(plugin.HubOptions{Buffer: controller.BufferOf, Leading: func() bool { return true }}),
	})
}

// list returns the buffers and the names of the templates.
func (r *rig) list(t *testing.T) (found []unstructured.Unstructured, templates []string) {
	t.Helper()
	list, err := r.dynamic.Resource(buffers).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := r.client.CoreV1().PodTemplates(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range of.Items {
		templates = append(templates, o.Name)
	}
	return list.Items, templates
}

// replicas returns each buffer's replicas by its workload, each of which has a template.
func (r *rig) replicas(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	found, templates := r.list(t)
	for _, b := range found {
		n, _, _ := unstructured.NestedInt64(b.Object, "spec", "replicas")
		of := b.GetAnnotations()["spazio-scheduler.github.io/workload"]
		if _, twice := all[of]; twice || !slices.Contains(templates, b.GetName()) {
			t.Fatalf("two buffers of %s, or no template: %v", of, templates)
		}
		all[of] = n
	}
	return all
}

// waitReplicas waits until there are these buffers.
func (r *rig) waitReplicas(t *testing.T, want map[string]int64) {
	t.Helper()
	cluster.Eventually(t, "buffers", func() (bool, any) {
		got := r.replicas(t)
		if len(got) != len(want) {
			return false, got
		}
		for of, n := range want {
			if got[of] != n {
				return false, got
			}
		}
		return true, nil
	})
}

// bothLabels are those of marked nodes.
var bothLabels = []string{plugin.FullLabel, plugin.ProtectedLabel}

// waitGone waits until no buffer, no template and no node with one of these labels is left.
func (r *rig) waitGone(t *testing.T, labels ...string) {
	t.Helper()
	cluster.Eventually(t, "no buffer, template or mark is left", func() (bool, any) {
		found, templates := r.list(t)
		left := len(found) + len(templates)
		for _, label := range labels {
			marked, err := r.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: label})
			if err != nil {
				t.Fatal(err)
			}
			left += len(marked.Items)
		}
		return left == 0, []any{len(found), templates, left}
	})
}

func (r *rig) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := r.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// waitNode waits until a node has a label, and annotations exactly for the keys in set.
func (r *rig) waitNode(t *testing.T, name string, full bool, annotations map[string]string) {
	t.Helper()
	cluster.Eventually(t, "marks of "+name, func() (bool, any) {
		node := r.node(t, name)
		ok := (node.Labels[plugin.FullLabel] == "true") == full
		for _, key := range []string{drain, disrupt} {
			ok = ok && node.Annotations[key] == annotations[key]
		}
		return ok, []any{node.Labels, node.Annotations}
	})
}

// annotate sets an annotation as kubectl annotate does, as another manager.
func (r *rig) annotate(t *testing.T, node, key, value string) {
	t.Helper()
	n := r.node(t, node)
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations[key] = value
	if _, err := r.client.CoreV1().Nodes().Update(context.Background(), n, metav1.UpdateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
}

// usage is of a large node whose pods take half a core and a gibibyte.
func usage(share float64) publishtest.Usage {
	return publishtest.Usage{Cores: cluster.Cores, Bytes: 128 << 30, CPU: share, Memory: share / 2, PodCores: 0.5, PodBytes: 1 << 30}
}
