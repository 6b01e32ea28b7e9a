package schedulerd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin/slots"
)

// TestSlotsNames: the plugin and the operator use the same names.
func TestSlotsNames(t *testing.T) {
	for got, want := range map[string]string{
		slots.Group: v1alpha1.GroupVersion.Group, slots.Version: v1alpha1.GroupVersion.Version, slots.BatchJobs: v1alpha1.BatchJobs,
		slots.LabelRole: v1alpha1.LabelRole, slots.LabelTestbedUID: v1alpha1.LabelTestbedUID,
		slots.LabelBatchJobUID: v1alpha1.LabelBatchJobUID, slots.LabelAttempt: v1alpha1.LabelAttempt,
		slots.AnnotationSlot: v1alpha1.AnnotationSlot, slots.RolePlaceholder: v1alpha1.RolePlaceholder, slots.RoleSlot: v1alpha1.RoleSlot,
		service.SlotsProfile: v1alpha1.SchedulerName,
	} {
		if got != want {
			t.Errorf("%q in the plugin, %q in the operator", got, want)
		}
	}
}

// edge is the part of kube-scheduler that SpazioSlots uses.
type edge struct {
	fwk.Handle
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	snapshot  *cache.Snapshot
}

func (e *edge) SharedInformerFactory() informers.SharedInformerFactory { return e.informers }
func (e *edge) ClientSet() kubernetes.Interface                        { return e.client }
func (e *edge) KubeConfig() *rest.Config                               { return nil }
func (e *edge) ProfileName() string                                    { return service.SlotsProfile }
func (e *edge) SnapshotSharedLister() fwk.SharedLister                 { return e.snapshot }
func (e *edge) SharedDRAManager() fwk.SharedDRAManager                 { return nil }

// job returns a BatchJob with the slot node/0, of unlimited size.
func job() *unstructured.UnstructuredList {
	o := unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"creationRequest": map[string]any{
		"testbed": map[string]any{"uid": "71fe"}, "slots": []any{"node/0"}, "attempt": int64(1),
	}}}}
	o.SetAPIVersion(v1alpha1.GroupVersion.String())
	o.SetKind("BatchJob")
	o.SetNamespace("default")
	o.SetName("job")
	o.SetUID("5e1d")
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{o}}
	list.SetResourceVersion("1")
	return list
}

// TestSlotsFitIsUpstreams: without placeholders the plugin's Filter decides as NodeResourcesFit does,
// for any pod and node.
func TestSlotsFitIsUpstreams(t *testing.T) {
	client := fake.NewClientset()
	e := &edge{client: client, informers: informers.NewSharedInformerFactory(client, 0)}
	source := &clientcache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return job(), nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewRaceFreeFake(), nil
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory := slots.NewFactory(clientcache.ToListWatcherWithWatchListSemantics(source, client))
	t.Cleanup(func() { cancel(); factory.Wait(); e.informers.Shutdown() })
	made, err := factory.New(ctx, nil, e)
	if err != nil {
		t.Fatal(err)
	}
	e.informers.Start(ctx.Done())
	p := made.(interface {
		fwk.PreFilterPlugin
		fwk.FilterPlugin
	})
	for !factory.Ready() {
		time.Sleep(time.Millisecond)
	}
	random, outcomes := rand.New(rand.NewPCG(20, 6)), map[bool]int{}
	for step := range 10_000 {
		node, pods, pod := randomNode(random), make([]*v1.Pod, random.IntN(12)), randomPod(random, "new")
		for i := range pods {
			pods[i] = randomPod(random, fmt.Sprint("pod-", i))
			pods[i].Spec.NodeName = node.Name
		}
		e.snapshot = cache.NewSnapshot(pods, []*v1.Node{node})
		info, err := e.snapshot.Get(node.Name)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		for _, lack := range noderesources.Fits(pod, info, nil, noderesources.ResourceRequestsOptions{EnablePodLevelResources: true}) {
			want = append(want, lack.Reason)
		}
		slices.Sort(want)
		outcomes[len(want) == 0]++
		pod.Labels = map[string]string{slots.LabelRole: slots.RoleSlot, slots.LabelBatchJobUID: "5e1d", slots.LabelAttempt: "1", slots.LabelTestbedUID: "71fe"}
		if step%2 == 0 {
			pod.Labels = map[string]string{slots.LabelRole: slots.RolePlaceholder, slots.LabelTestbedUID: "71fe"}
		}
		state := framework.NewCycleState()
		if _, status := p.PreFilter(ctx, state, pod, nil); !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
		got := []string{}
		if status := p.Filter(ctx, state, pod, info); status != nil {
			got = slices.Clone(status.Reasons())
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d (-upstream +slots):\n%s\nnode %v\npod %v", step, diff, node.Status.Allocatable, pod.Spec)
		}
	}
	if outcomes[true] < 1000 || outcomes[false] < 1000 {
		t.Errorf("got fitting pods %v", outcomes)
	}
}

var extended = []v1.ResourceName{"example.com/gpu", "hugepages-2Mi", "storage"}

// randomNode returns a node of 4 to 64 cores.
func randomNode(random *rand.Rand) *v1.Node {
	cores := int64(4 << random.IntN(5))
	room := v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(cores<<30, resource.BinarySI),
		v1.ResourceEphemeralStorage: *resource.NewQuantity(cores<<30, resource.BinarySI), v1.ResourcePods: *resource.NewQuantity(random.Int64N(16), resource.DecimalSI),
	}
	for _, name := range extended[:2] {
		if random.IntN(2) == 0 {
			room[name] = *resource.NewQuantity(random.Int64N(8), resource.DecimalSI)
		}
	}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: v1.NodeStatus{Capacity: room, Allocatable: room}}
}

// randomPod returns a pod with containers, init containers that end or keep running, overhead and
// pod-level requests, or without any of them.
func randomPod(random *rand.Rand, name string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
	for i := range 1 + random.IntN(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, randomContainer(random, fmt.Sprint("main-", i)))
	}
	for i := range random.IntN(3) {
		c := randomContainer(random, fmt.Sprint("init-", i))
		if random.IntN(2) == 0 {
			c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if random.IntN(4) == 0 {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(random.Int64N(500), resource.DecimalSI)}
	}
	if random.IntN(4) == 0 {
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(random.Int64N(9000), resource.DecimalSI)}}
	}
	return pod
}

func randomContainer(random *rand.Rand, name string) v1.Container {
	requests := v1.ResourceList{}
	for _, r := range []struct {
		name v1.ResourceName
		most int64
	}{{v1.ResourceMemory, 4 << 30}, {v1.ResourceEphemeralStorage, 4 << 30}, {extended[0], 3}, {extended[1], 3}, {extended[2], 3}} {
		if random.IntN(3) == 0 {
			requests[r.name] = *resource.NewQuantity(random.Int64N(r.most), resource.BinarySI)
		}
	}
	if random.IntN(2) == 0 {
		requests[v1.ResourceCPU] = *resource.NewMilliQuantity(random.Int64N(4000), resource.DecimalSI)
	}
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: requests}}
}
