//go:build realnode && linux

package realnode

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

var swaps = flag.Int("swaps", 200, "how many pods take a placeholder's place in the test of test beds")

const (
	slotLabel        = "bench" // of the nodes with slots
	slotsThere       = 4       // on the node
	placeholderImage = "localhost/pause:1"
	// inOneSlot is how long two pods may be in one slot.
	inOneSlot = 5 * time.Second
	// heeded is the time within which a busy node must lose slots.
	heeded = 30 * time.Second
)

// TestTestbedSwaps lets jobs of one to four pods take the slots of the node, which hold all that it
// has: the kubelet would reject a pod whose placeholder still counts.
func TestTestbedSwaps(t *testing.T) {
	installTestbed(t)
	others := everyPod(t)
	testbed(t, "swaps", v1alpha1.TestbedSpec{
		NodeLabel: slotLabel, SlotsPerNode: intstr.FromInt32(slotsThere), ResourcesPerSlot: share(t, slotsThere),
	})
	eventually(t, "all slots are free", func(context.Context) error { return counts(t, "swaps", slotsThere) })

	seen := followSlots(t)
	var queue []v1alpha1.JobReference
	for i := 0; len(queue) < *swaps; i++ {
		name, size := fmt.Sprintf("swap-%d", i), min(1+i%slotsThere, *swaps-len(queue))
		applyTyped(t, "BatchJob", &v1alpha1.BatchJob{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       v1alpha1.BatchJobSpec{JobSpec: jobSpec(t, "-cpu=100ms", "-sleep=500ms")},
		})
		for range size {
			queue = append(queue, v1alpha1.JobReference{Name: name})
		}
	}
	begin := time.Now()
	applyTyped(t, "Scheduling", &v1alpha1.Scheduling{
		ObjectMeta: metav1.ObjectMeta{Name: "swaps", Namespace: "default"},
		Spec:       v1alpha1.SchedulingSpec{Testbed: v1alpha1.TestbedReference{Name: "swaps"}, QueueBased: queue},
	})
	last := 0
	for last < *swaps { // each has the usual time limit
		eventually(t, fmt.Sprintf("pod %d of %d ends", last+1, *swaps), func(context.Context) error {
			ended := seen.ended()
			if ended == last {
				return fmt.Errorf("%d have ended", ended)
			}
			last = ended
			return nil
		})
	}
	eventually(t, "all slots are free again", func(context.Context) error { return counts(t, "swaps", slotsThere) })
	took := time.Since(begin).Seconds()
	seen.check(t, *swaps)
	if gone := without(others, everyPod(t)); len(gone) > 0 {
		t.Errorf("got deleted pods that are no placeholders: %v", gone)
	}
	t.Logf("%d pods took a placeholder's place in %.0f s", *swaps, took)
	note(t, "testbed swaps", map[string]any{"swaps": *swaps, "seconds": took})
}

// TestTestbedFollowsRoom makes a node with slots by measured room busy, and quiet again. There are none
// before the cost of a pod is known.
func TestTestbedFollowsRoom(t *testing.T) {
	installTestbed(t)
	run(t, "teachers", spazio, 20, "-cpu=5s") // of pods of 2 s hardly a second shows a pod's usage
	quiet(t)
	testbed(t, "auto", v1alpha1.TestbedSpec{NodeLabel: slotLabel, SlotsPerNode: intstr.FromString("auto")})
	var seen v1alpha1.TestbedNode
	wanted := func() int32 {
		if nodes := readTestbed(t, "auto").Status.Nodes; len(nodes) == 1 {
			seen = nodes[0]
			return seen.Wanted
		}
		return -1
	}
	defer func() {
		if !t.Failed() {
			return
		}
		t.Logf("the node of the testbed: %+v", seen)
		for _, arguments := range [][]string{{"slots", "auto"}, {"top"}, {"why", nodeName}} {
			out, err := output(t, arguments...)
			t.Logf("spazio %s: %v\n%s", arguments[0], err, out)
		}
	}()
	var before int32
	eventually(t, "the quiet node has slots", func(context.Context) error {
		if before = wanted(); before < 1 {
			return fmt.Errorf("%d are wanted", before)
		}
		return nil
	})
	busy, end := context.WithCancel(t.Context())
	begin := time.Now()
	var loads []*exec.Cmd
	for range runtime.NumCPU() {
		c := exec.CommandContext(busy, "yes")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		loads = append(loads, c)
	}
	calm := sync.OnceFunc(func() {
		end()
		for _, c := range loads {
			_ = c.Wait() // killed
		}
	})
	defer calm()
	fell := wait(t, "the busy node loses slots", func() error {
		if n := wanted(); n >= before {
			return fmt.Errorf("%d are wanted, %d before", n, before)
		}
		return nil
	})
	if fell > heeded {
		t.Errorf("got the first slot removed after %v, want within %v", fell, heeded)
	}
	least := wanted()
	calm()
	back := wait(t, "the node has its slots again", func() error {
		if n := wanted(); n < before {
			return fmt.Errorf("%d are wanted, %d before", n, before)
		}
		return nil
	})
	t.Logf("%d slots; busy from %v on: %d after %.1f s; again as many %.1f s after the load", before, begin.Format(time.TimeOnly), least, fell.Seconds(), back.Seconds())
	note(t, "testbed follows room", map[string]any{"before": before, "fell": fell.Seconds(), "back": back.Seconds()})
}

// wait is eventually, and returns how long it took.
func wait(t *testing.T, what string, check func() error) time.Duration {
	t.Helper()
	begin := time.Now()
	eventually(t, what, func(context.Context) error { return check() })
	return time.Since(begin)
}

// installTestbed installs our programs with test beds on the node, and labels the node until the
// test ends.
func installTestbed(t *testing.T) {
	t.Helper()
	installWith(t, []string{"testbed"}, func(o *unstructured.Unstructured) {
		if o.GetKind() == "Deployment" && o.GetName() == "spazio-testbed" {
			addArguments(t, o, []string{"--placeholder-image=" + placeholderImage})
		}
	})
	labelNodes(t.Context(), t, `"0"`)
	t.Cleanup(func() { labelNodes(context.Background(), t, "null") }) // of the test, not of ours
}

// labelNodes sets the label of nodes with slots to a JSON value.
func labelNodes(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, slotLabel, value)
	nodes, err := node.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if _, err := node.client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// share returns an equal part of what the node has and no pod requests.
func share(t *testing.T, parts int64) corev1.ResourceList {
	t.Helper()
	nodes, err := node.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("%d nodes: %v", len(nodes.Items), err)
	}
	pods, err := node.client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	free := nodes.Items[0].Status.Allocatable
	cpu, memory := free.Cpu().MilliValue(), free.Memory().Value()
	for i := range pods.Items {
		requests := resourcehelper.PodRequests(&pods.Items[i], resourcehelper.PodResourcesOptions{})
		cpu, memory = cpu-requests.Cpu().MilliValue(), memory-requests.Memory().Value()
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu/parts, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory/parts>>20<<20, resource.BinarySI),
	}
}

// jobSpec returns the spec of a Job whose pods run the program work.
func jobSpec(t *testing.T, arguments ...string) *k8sruntime.RawExtension {
	t.Helper()
	spec := worker("", "", arguments...).Spec
	text, err := json.Marshal(map[string]any{"template": map[string]any{"spec": spec}})
	if err != nil {
		t.Fatal(err)
	}
	return &k8sruntime.RawExtension{Raw: text}
}

// applyTyped applies an object of the test beds' group, and deletes it after the test.
func applyTyped(t *testing.T, kind string, object metav1.Object) {
	t.Helper()
	content, err := k8sruntime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	apply(t, []*unstructured.Unstructured{o})
	t.Cleanup(func() {
		resource := dynamicClient(t).Resource(v1alpha1.GroupVersion.WithResource(strings.ToLower(kind) + "s")).Namespace(object.GetNamespace())
		if err := node.await(kind+" "+object.GetName()+" is gone", func(ctx context.Context) error {
			switch err := resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); {
			case err == nil:
				return errors.New("it is there")
			case !apierrors.IsNotFound(err):
				return err
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

// testbed creates a test bed.
func testbed(t *testing.T, name string, spec v1alpha1.TestbedSpec) {
	t.Helper()
	applyTyped(t, "Testbed", &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: spec})
}

func readTestbed(t *testing.T, name string) (tb v1alpha1.Testbed) {
	t.Helper()
	o, err := dynamicClient(t).Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Testbeds)).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
	if err == nil {
		err = k8sruntime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &tb)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// counts returns an error unless there are so many slots, all free.
func counts(t *testing.T, name string, free int32) error {
	t.Helper()
	if s := readTestbed(t, name).Status; s.Counts != (v1alpha1.SlotCounts{Slots: free, Free: free}) {
		return fmt.Errorf("%+v, %+v", s.Counts, s.Conditions)
	}
	return nil
}

// everyPod returns the names and UIDs of the pods that belong in no slot.
func everyPod(t *testing.T) (names []string) {
	t.Helper()
	pods, err := node.client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: "!" + v1alpha1.LabelRole})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		names = append(names, p.Namespace+"/"+p.Name+"/"+string(p.UID))
	}
	return names
}

// inSlots are the jobs' pods in their last observed state. It is safe for concurrent use.
type inSlots struct {
	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
}

// followSlots observes every pod that belongs in a slot until the test ends.
func followSlots(t *testing.T) *inSlots {
	t.Helper()
	s := &inSlots{pods: map[types.UID]*corev1.Pod{}}
	factory := informers.NewSharedInformerFactoryWithOptions(node.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = v1alpha1.LabelRole + "=" + v1alpha1.RoleSlot
	}))
	observe := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pods[pod.UID] = pod
		}
	}
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: observe, UpdateFunc: func(_, pod any) { observe(pod) },
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	t.Cleanup(func() { stop(); factory.Shutdown() })
	return s
}

// ended counts the ended pods.
func (s *inSlots) ended() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			n++
		}
	}
	return n
}

// check checks that so many pods succeeded, each in a slot, no two in one for long.
func (s *inSlots) check(t *testing.T, count int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pods) != count {
		t.Errorf("got %d pods for %d places", len(s.pods), count)
	}
	slots := map[string][]*corev1.Pod{}
	for _, p := range s.pods {
		if p.Status.Phase != corev1.PodSucceeded {
			t.Errorf("%s is %s: %s %s", p.Name, p.Status.Phase, p.Status.Reason, p.Status.Message)
			continue
		}
		slots[p.Annotations[v1alpha1.AnnotationSlot]] = append(slots[p.Annotations[v1alpha1.AnnotationSlot]], p)
	}
	if _, none := slots[""]; none || len(slots) > slotsThere {
		t.Errorf("slots %v", slices.Sorted(maps.Keys(slots)))
	}
	for slot, pods := range slots {
		slices.SortFunc(pods, func(a, b *corev1.Pod) int { return began(a).Compare(began(b)) })
		for i := 1; i < len(pods); i++ {
			if both := end(pods[i-1]).Sub(began(pods[i])); both > inOneSlot {
				t.Errorf("%s and %s were both in slot %s for %v", pods[i-1].Name, pods[i].Name, slot, both)
			}
		}
	}
}

// began returns when the kubelet accepted the pod.
func began(pod *corev1.Pod) time.Time {
	if pod.Status.StartTime == nil {
		return time.Time{}
	}
	return pod.Status.StartTime.Time
}

// end returns when its last container ended.
func end(pod *corev1.Pod) (at time.Time) {
	for _, c := range pod.Status.ContainerStatuses {
		if ended := c.State.Terminated; ended != nil && ended.FinishedAt.After(at) {
			at = ended.FinishedAt.Time
		}
	}
	return at
}
