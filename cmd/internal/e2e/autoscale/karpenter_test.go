package autoscale

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish/publishtest"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

var (
	karpenter       = flag.String("karpenter", "", "program of Karpenter with its kwok provider, for TestKarpenter")
	karpenterModule = flag.String("karpenter-module", "", "directory of Karpenter's module, which has the definitions of its objects")
)

const (
	nodePool     = "karpenter.sh/nodepool"
	beingDrained = "karpenter.sh/disrupted"
	// Nodes have 16 cores. The initial ones are full of basePods, each of podCores: busy by
	// measurement, unused by requests.
	baseNodes, basePods = 5, 25
	newPlaces           = 39
	podCores            = 0.4
	batchPods           = 200
)

var (
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	kinds      = map[string]schema.GroupVersionResource{
		"NodePool":                 {Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
		"KWOKNodeClass":            {Group: "karpenter.kwok.sh", Version: "v1alpha1", Resource: "kwoknodeclasses"},
		"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	}
)

// TestKarpenter runs Karpenter itself. Two hundred pods without requests wait on five nodes that are
// full by measurement and unused by requests. Without the controller Karpenter adds no node and drains
// busy ones; with it the pods run on new nodes, these are removed afterwards, and no busy node is
// drained, although leaders are killed.
func TestKarpenter(t *testing.T) {
	if *karpenter == "" {
		t.Skip("without -karpenter; .ci/run karpenter builds it")
	}
	r := newRigWith(t, filepath.Join(*karpenterModule, "pkg/apis/crds/autoscaling.x-k8s.io_capacitybuffers.yaml"))
	for _, pattern := range []string{"pkg/apis/crds/*.yaml", "kwok/apis/crds/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(*karpenterModule, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			create(t, r, file)
		}
	}
	cluster.Eventually(t, "NodePools are there", func() (bool, any) { return create(t, r, "testdata/karpenter.yaml") == nil, nil })
	t.Run("control", func(t *testing.T) {
		k := startKarpenter(t, r)
		k.begin(t)
		k.submitBatch(t)
		k.eventually(t, "a busy node is drained", func() (bool, any) { return len(k.drained) > 0, len(k.nodes) })
		if k.most > baseNodes {
			t.Errorf("got %d nodes without the controller, want no new one", k.most)
		}
	})
	t.Run("autoscale", func(t *testing.T) {
		k := startKarpenter(t, r, "--autoscale=namespace="+namespace+",scaleUpDelay=2s,scaleDownDelay=12s,maxReplicas=200")
		k.begin(t)
		first := k.uids()
		for _, n := range k.nodes {
			r.waitNode(t, n.Name(), false, map[string]string{drain: "true", disrupt: "true"})
		}
		log := cluster.Watch(t, r.client)
		k.submitBatch(t)
		k.eventually(t, "nodes are asked for", func() (bool, any) { return len(r.replicas(t)) == 1, nil })
		k.killLeader(t)
		k.eventually(t, "a node is added", func() (bool, any) { return k.most > baseNodes, k.most })
		registered := time.Now()
		k.eventually(t, "all pods run", func() (bool, any) {
			bound, _ := log.Counts()
			r.replicas(t) // none of them twice
			return bound >= batchPods, bound
		})
		t.Logf("%d pods have a node %v after the first new node, of which there were %d at most", batchPods, time.Since(registered), k.most-baseNodes)
		k.killLeader(t)
		k.eventually(t, "all pods have run, and the nodes of the start are left", func() (bool, any) {
			_, succeeded := log.Counts()
			return succeeded == batchPods && len(k.uids()) == baseNodes, []int{succeeded, len(k.uids())}
		})
		if now := k.uids(); fmt.Sprint(now) != fmt.Sprint(first) {
			t.Errorf("got nodes %v, want %v", now, first)
		}
		if len(k.drained) > 0 {
			t.Errorf("got drained busy nodes %v", k.drained)
		}
		r.waitGone(t, plugin.FullLabel)
	})
}

// create creates the objects of a file that do not exist yet.
func create(t *testing.T, r *rig, file string) error {
	t.Helper()
	for _, o := range cluster.ReadManifests(t, file) {
		if _, err := r.dynamic.Resource(kinds[o.GetKind()]).Create(t.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// karpenterCluster has Karpenter, two schedulers, and the kubelets and agents of the nodes that
// Karpenter creates. It is for one goroutine: whatever waits has to call step.
type karpenterCluster struct {
	*rig
	replicas []*cluster.Replica
	targets  []string
	nodes    map[string]*cluster.PlaceNode
	// drained are the nodes that were to be drained while they were busy, most is the largest number of
	// nodes.
	drained []string
	most    int
}

func startKarpenter(t *testing.T, r *rig, flags ...string) *karpenterCluster {
	t.Helper()
	admin, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	k := &karpenterCluster{rig: r, nodes: map[string]*cluster.PlaceNode{}}
	for range 2 {
		replica := cluster.NewReplica(t, r.kubeconfig, admin.BearerToken, append([]string{"--debug-listen="}, flags...)...)
		replica.Start(t)
		k.replicas, k.targets = append(k.replicas, replica), append(k.targets, replica.Signals)
	}
	process := cluster.Command{Program: *karpenter, Args: []string{
		"--disable-leader-election=true", "--metrics-port=0", "--health-probe-port=0", "--feature-gates=CapacityBuffer=true",
		"--batch-idle-duration=500ms", "--batch-max-duration=2s",
	}, Env: []string{"KUBECONFIG=" + r.kubeconfig, "SYSTEM_NAMESPACE=" + namespace}}
	process.Start(t)
	t.Cleanup(func() { k.remove(t) }) // while Karpenter runs, which has to remove its nodes
	return k
}

// begin creates the initial nodes, and fills them.
func (k *karpenterCluster) begin(t *testing.T) {
	t.Helper()
	for i := range baseNodes {
		claim := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
			"requirements": []any{
				map[string]any{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": []any{"c-16x-amd64-linux"}},
				map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}},
			},
			"resources": map[string]any{"requests": map[string]any{"cpu": "1"}},
		}}}
		claim.SetAPIVersion("karpenter.sh/v1")
		claim.SetKind("NodeClaim")
		claim.SetName(fmt.Sprintf("base-%d", i))
		claim.SetLabels(map[string]string{nodePool: "default"})
		if _, err := k.dynamic.Resource(nodeClaims).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.eventually(t, "the nodes of the start", func() (bool, any) { return len(k.nodes) == baseNodes, len(k.nodes) })
	log := cluster.Watch(t, k.client)
	submit(t, k.rig, "base", baseNodes*basePods, nil)
	k.eventually(t, "they are full", func() (bool, any) {
		bound, _ := log.Counts()
		return bound == baseNodes*basePods, bound
	})
}

// submitBatch creates the pods that find no room on the initial nodes.
func (k *karpenterCluster) submitBatch(t *testing.T) {
	t.Helper()
	submit(t, k.rig, "batch", batchPods, func(p *corev1.Pod) { p.Annotations[simnode.AnnotationWork] = simnode.FormatSeconds(20 * time.Second) })
}

func (k *karpenterCluster) killLeader(t *testing.T) {
	t.Helper()
	leader := cluster.Leader(t, k.replicas)
	leader.Kill(t)
	leader.Start(t)
}

// eventually is cluster.Eventually with nodes that come and go.
func (k *karpenterCluster) eventually(t *testing.T, what string, condition func() (bool, any)) {
	t.Helper()
	cluster.Eventually(t, what, func() (bool, any) {
		k.step(t)
		return condition()
	})
}

// step starts new nodes, ends the agents of removed ones, and records what is drained.
func (k *karpenterCluster) step(t *testing.T) {
	t.Helper()
	time.Sleep(100 * time.Millisecond)
	list, err := k.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: nodePool})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for i := range list.Items {
		node := &list.Items[i]
		there[node.Name] = true
		n := k.nodes[node.Name]
		if n == nil {
			places := newPlaces
			if len(k.nodes) < baseNodes && k.most < baseNodes {
				places = basePods
			}
			n = newPlaceNode(t, k.client, simnode.NodeSpec{Name: node.Name, Cores: 16, Memory: 32 << 30}, places, k.targets...)
			n.SetUsage(publishtest.Usage{Cores: 16, Bytes: 32 << 30, PodCores: podCores, PodBytes: 256 << 20})
			k.nodes[node.Name] = n
		}
		isDrained := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == beingDrained })
		if busy := len(n.LastReport().Pods) > 20; busy && isDrained && !slices.Contains(k.drained, node.Name) {
			k.drained = append(k.drained, node.Name)
		}
	}
	for name, n := range k.nodes {
		if !there[name] {
			n.KillAgent()
			delete(k.nodes, name)
		}
	}
	k.most = max(k.most, len(k.nodes))
}

// uids returns the nodes in the API.
func (k *karpenterCluster) uids() map[string]types.UID {
	uids := map[string]types.UID{}
	list, err := k.client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{LabelSelector: nodePool})
	if err == nil {
		for _, node := range list.Items {
			uids[node.Name] = node.UID
		}
	}
	return uids
}

// remove removes all nodes.
func (k *karpenterCluster) remove(t *testing.T) {
	cluster.Remove(t, k.client)
	err := k.dynamic.Resource(nodeClaims).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		t.Error(err)
	}
	cluster.Eventually(t, "Karpenter's nodes are gone", func() (bool, any) {
		claims, err := k.dynamic.Resource(nodeClaims).List(context.Background(), metav1.ListOptions{})
		return err == nil && len(claims.Items) == 0 && len(k.uids()) == 0, k.uids()
	})
}
