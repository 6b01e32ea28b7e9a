package testbeds

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// swapBed is a set of nodes full of placeholders, and the real scheduler. The test writes the testbed
// and its jobs: no controller runs, and no kubelet, so pods end when they are deleted without grace.
type swapBed struct {
	t       *testing.T
	client  kubernetes.Interface
	objects dynamic.Interface
}

const swapTestbed = "71fe0000-0000-4000-8000-000000000000"

// newSwapBed creates nodes of 2 cores.
func newSwapBed(t *testing.T, nodes ...string) *swapBed {
	b := &swapBed{t: t, objects: connect(t)}
	var err error
	if b.client, err = kubernetes.NewForConfig(cluster.Plane(t).RESTConfig()); err != nil {
		t.Fatal(err)
	}
	for _, name := range nodes {
		b.addNode(name)
	}
	t.Cleanup(b.clear)
	return b
}

func (b *swapBed) addNode(name string) {
	b.t.Helper()
	room := corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("2Gi"), "pods": resource.MustParse("110")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	if _, err := b.client.CoreV1().Nodes().Create(b.t.Context(), node, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// clear removes the remaining pods and nodes.
func (b *swapBed) clear() {
	ctx, now := context.Background(), int64(0)
	pods := b.client.CoreV1().Pods(metav1.NamespaceDefault)
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
		b.t.Error(err)
	}
	if err := b.client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		b.t.Error(err)
	}
}

func (b *swapBed) create(pod *corev1.Pod) *corev1.Pod {
	b.t.Helper()
	made, err := b.client.CoreV1().Pods(metav1.NamespaceDefault).Create(b.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

func (b *swapBed) delete(pod *corev1.Pod) {
	b.t.Helper()
	now := int64(0)
	if err := b.client.CoreV1().Pods(pod.Namespace).Delete(b.t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		b.t.Fatal(err)
	}
}

func slotPod(name string, labels map[string]string) *corev1.Pod {
	one := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{v1alpha1.AnnotationOptOut: "true"}},
		Spec: corev1.PodSpec{
			SchedulerName: v1alpha1.SchedulerName, TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: one}}},
		},
	}
}

// placeholders creates those of the slots and waits until they are bound.
func (b *swapBed) placeholders(ids ...string) {
	b.t.Helper()
	for _, text := range ids {
		id, err := slot.ParseID(text)
		if err != nil {
			b.t.Fatal(err)
		}
		placeholder := slotPod(slot.PlaceholderName(swapTestbed, id), map[string]string{v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: swapTestbed})
		placeholder.Annotations[v1alpha1.AnnotationSlot] = text
		placeholder.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{id.Node}},
			}}},
		}}}
		b.create(placeholder)
	}
	b.eventually("the placeholders are bound", func() (bool, any) {
		bound := b.placeholdersLeft()
		return len(bound) == len(ids), bound
	})
}

// placeholdersLeft returns the slots with bound placeholders.
func (b *swapBed) placeholdersLeft() []string {
	left := []string{}
	for _, pod := range b.pods(v1alpha1.RolePlaceholder) {
		if pod.Spec.NodeName != "" {
			left = append(left, pod.Annotations[v1alpha1.AnnotationSlot])
		}
	}
	slices.Sort(left)
	return left
}

func (b *swapBed) pods(role string) []corev1.Pod {
	b.t.Helper()
	list, err := b.client.CoreV1().Pods(metav1.NamespaceDefault).List(b.t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelRole + "=" + role})
	if err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

// job creates a BatchJob without a request.
func (b *swapBed) job(name string) *unstructured.Unstructured {
	b.t.Helper()
	return create(b.t, resourceOf(b.objects, v1alpha1.BatchJobs), object(b.t, v1alpha1.BatchJobs, name, "{jobSpec: {template: {}}}"))
}

// request writes a job's slots, as its controller does.
func (b *swapBed) request(job *unstructured.Unstructured, attempt int, ids ...string) {
	b.t.Helper()
	request := fmt.Sprintf("{testbed: {namespace: default, name: small, uid: %s}, slots: [%s], resources: {cpu: 1, memory: 1Gi}, replication: %d, attempt: %d}",
		swapTestbed, strings.Join(ids, ", "), len(ids), attempt)
	patch, err := parse(b.t, "{status: {creationRequest: "+request+"}}").MarshalJSON()
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := resourceOf(b.objects, v1alpha1.BatchJobs).Patch(b.t.Context(), job.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		b.t.Fatal(err)
	}
}

// submit creates a pod of the job's first attempt.
func (b *swapBed) submit(job *unstructured.Unstructured, name string) *corev1.Pod {
	b.t.Helper()
	return b.create(slotPod(name, map[string]string{
		v1alpha1.LabelRole: v1alpha1.RoleSlot, v1alpha1.LabelTestbedUID: swapTestbed,
		v1alpha1.LabelBatchJobUID: string(job.GetUID()), v1alpha1.LabelAttempt: "1",
	}))
}

// slotOf returns a pod's slot, or the reason for none.
func (b *swapBed) slotOf(pod *corev1.Pod) string {
	b.t.Helper()
	now, err := b.client.CoreV1().Pods(pod.Namespace).Get(b.t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	if now.Spec.NodeName != "" {
		text := now.Annotations[v1alpha1.AnnotationSlot]
		if id, err := slot.ParseID(text); err != nil || id.Node != now.Spec.NodeName {
			b.t.Errorf("got %s on %s in the slot %q", pod.Name, now.Spec.NodeName, text)
		}
		return text
	}
	for _, c := range now.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Message
		}
	}
	return ""
}

// waitSlot waits until the pod's slot, or the reason for none, is as wanted.
func (b *swapBed) waitSlot(pod *corev1.Pod, want string) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%s: %s", pod.Name, want), func() (bool, any) {
		got := b.slotOf(pod)
		return got == want || strings.Contains(want, " ") && strings.Contains(got, want), got
	})
}

func (b *swapBed) eventually(what string, condition func() (bool, any)) {
	b.t.Helper()
	cluster.Eventually(b.t, what, condition)
}

// proxy is between a scheduler and the API server and sees each binding first; refuse returns the
// status code to answer instead, 0 to forward it.
func (b *swapBed) proxy(refuse func(pod string) int) (kubeconfig string) {
	b.t.Helper()
	return proxied(b.t, cluster.Plane(b.t).RESTConfig(), func(forward http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if path, binding := strings.CutSuffix(r.URL.Path, "/binding"); binding && r.Method == http.MethodPost {
				if code := refuse(path[strings.LastIndex(path, "/")+1:]); code != 0 {
					http.Error(w, "not now", code)
					return
				}
			}
			forward.ServeHTTP(w, r)
		})
	})
}

// direct returns the kubeconfig of the API server itself.
func (b *swapBed) direct() string {
	_, kubeconfig := cluster.Connect(b.t)
	return kubeconfig
}

// departures records the deleted pods.
type departures struct {
	mu    sync.Mutex
	names []string
}

func (b *swapBed) watchDepartures() *departures {
	b.t.Helper()
	w, err := b.client.CoreV1().Pods(metav1.NamespaceDefault).Watch(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	d := &departures{}
	var following sync.WaitGroup
	following.Go(func() {
		for e := range w.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok && e.Type == "DELETED" {
				d.mu.Lock()
				d.names = append(d.names, pod.Name)
				d.mu.Unlock()
			}
		}
	})
	b.t.Cleanup(func() { w.Stop(); following.Wait() })
	return d
}

func (d *departures) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.names))
}

// On nodes full of placeholders, pods get their job's slots in order, each replacing its slot's
// placeholder, and no other pod is deleted.
func TestSwap(t *testing.T) {
	b := newSwapBed(t, "swap-a", "swap-b")
	runScheduler(t, b.direct())
	b.placeholders("swap-a/0", "swap-a/1", "swap-b/0", "swap-b/1")
	bystander := slotPod("bystander", nil)
	bystander.Spec.SchedulerName, bystander.Spec.NodeName, bystander.Spec.Containers[0].Resources = "", "swap-a", corev1.ResourceRequirements{}
	b.create(bystander)
	gone := b.watchDepartures()
	job, small := b.job("crawler"), b.job("small")
	first, none := b.submit(job, "first"), b.create(slotPod("none", nil))
	b.waitSlot(none, "pods of this profile are placeholders and pods for slots")
	b.waitSlot(first, "default/crawler has no slots")
	b.request(job, 1, "swap-a/0", "swap-b/0", "swap-a/1")
	b.request(small, 1, "swap-b/1")
	b.waitSlot(first, "swap-a/0")
	second := b.submit(job, "second")
	b.waitSlot(second, "swap-b/0")
	third := b.submit(job, "third")
	b.waitSlot(third, "swap-a/1")
	b.waitSlot(b.submit(small, "other"), "swap-b/1")
	late := b.submit(job, "late")
	b.waitSlot(late, "all 3 slots of default/crawler are taken")
	if left := b.placeholdersLeft(); len(left) > 0 {
		t.Errorf("got placeholders beside pods: %q", left)
	}
	b.delete(second)
	b.waitSlot(late, "swap-b/0")
	var want []string
	for _, id := range []slot.ID{{Node: "swap-a"}, {Node: "swap-a", Position: 1}, {Node: "swap-b"}, {Node: "swap-b", Position: 1}} {
		want = append(want, slot.PlaceholderName(swapTestbed, id))
	}
	want = slices.Sorted(slices.Values(append(want, "second")))
	b.eventually("no other pod has gone", func() (bool, any) { got := gone.list(); return slices.Equal(got, want), got })
}

// Of two pods that arrive for one slot at once one gets it.
func TestSwapRace(t *testing.T) {
	b := newSwapBed(t, "race")
	runScheduler(t, b.direct())
	b.placeholders("race/0", "race/1")
	job := b.job("racers")
	var pods [2]*corev1.Pod
	for i := range pods {
		pods[i] = b.submit(job, fmt.Sprint("racer-", i))
		b.waitSlot(pods[i], "default/racers has no slots")
	}
	b.request(job, 1, "race/1") // both are activated
	b.eventually("one has the slot, and one has not", func() (bool, any) {
		got := []string{b.slotOf(pods[0]), b.slotOf(pods[1])}
		slices.Sort(got)
		return got[1] == "race/1" && strings.Contains(got[0], "the slot of default/racers is taken"), got
	})
	if left := b.placeholdersLeft(); !slices.Equal(left, []string{"race/0"}) {
		t.Errorf("got remaining placeholders of %q", left)
	}
}

// A slot whose node is gone cannot be used until the node returns.
func TestSwapNodeLeaves(t *testing.T) {
	b := newSwapBed(t, "leave-a", "leave-b")
	runScheduler(t, b.direct())
	b.placeholders("leave-a/0", "leave-b/0")
	job := b.job("leavers")
	for _, placeholder := range b.pods(v1alpha1.RolePlaceholder) {
		if placeholder.Spec.NodeName == "leave-a" {
			b.delete(&placeholder)
		}
	}
	if err := b.client.CoreV1().Nodes().Delete(t.Context(), "leave-a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the node is gone", func() (bool, any) {
		_, err := b.client.CoreV1().Nodes().Get(t.Context(), "leave-a", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
	b.request(job, 1, "leave-a/0", "leave-b/0")
	stays := b.submit(job, "stays")
	b.waitSlot(stays, "leave-b/0")
	waits := b.submit(job, "waits")
	b.waitSlot(waits, "1 of 2 slots of default/leavers are taken, and the nodes of the others are gone")
	b.addNode("leave-a")
	b.waitSlot(waits, "leave-a/0")
}

// If the API server refuses bindings after the placeholder was deleted, the pod keeps its slot.
func TestSwapBindingFails(t *testing.T) {
	b := newSwapBed(t, "refused")
	var mu sync.Mutex
	refusals := map[string]int{}
	runScheduler(t, b.proxy(func(pod string) int {
		mu.Lock()
		defer mu.Unlock()
		if pod != "unlucky" || refusals[pod] == 2 {
			return 0
		}
		refusals[pod]++
		return http.StatusInternalServerError
	}))
	b.placeholders("refused/0", "refused/1")
	job := b.job("refused")
	b.request(job, 1, "refused/0", "refused/1")
	gone := b.watchDepartures()
	unlucky := b.submit(job, "unlucky")
	b.eventually("its placeholder is gone", func() (bool, any) { return len(gone.list()) == 1, gone.list() })
	lucky := b.submit(job, "lucky")
	b.waitSlot(lucky, "refused/1")
	b.waitSlot(unlucky, "refused/0")
	mu.Lock()
	defer mu.Unlock()
	if refusals["unlucky"] != 2 {
		t.Errorf("got %d refused bindings", refusals["unlucky"])
	}
}

// A scheduler is killed after it deleted a placeholder and before it bound the pod: the next one puts
// the pod into the slot.
func TestSwapSchedulerKilled(t *testing.T) {
	b := newSwapBed(t, "killed")
	binding, release := make(chan string, 10), make(chan struct{})
	kubeconfig := b.proxy(func(pod string) int {
		if pod != "victim" {
			return 0
		}
		binding <- pod
		<-release
		return http.StatusServiceUnavailable
	})
	t.Cleanup(func() { close(release) }) // before the proxy waits for its end
	start := func(kubeconfig string) *cluster.Command {
		scheduler := &cluster.Command{Role: "scheduler", Args: []string{
			"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--signal-listen=127.0.0.1:0", "--debug-listen=",
		}}
		scheduler.Start(t)
		return scheduler
	}
	first := start(kubeconfig)
	b.placeholders("killed/0", "killed/1")
	job := b.job("killed")
	b.request(job, 1, "killed/1", "killed/0")
	victim := b.submit(job, "victim")
	<-binding
	if left := b.placeholdersLeft(); !slices.Equal(left, []string{"killed/0"}) {
		t.Errorf("got remaining placeholders of %q before the bind", left)
	}
	first.Kill(t)
	if now, err := b.client.CoreV1().Pods(victim.Namespace).Get(t.Context(), victim.Name, metav1.GetOptions{}); err != nil || now.Spec.NodeName != "" {
		t.Fatalf("got %v, %v: the pod was bound", now, err)
	}
	start(b.direct())
	b.waitSlot(victim, "killed/1")
	if left := b.placeholdersLeft(); !slices.Equal(left, []string{"killed/0"}) {
		t.Errorf("got remaining placeholders of %q", left)
	}
}
