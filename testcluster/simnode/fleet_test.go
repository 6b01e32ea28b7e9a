package simnode_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	k8stesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// rig is a fleet, by default of one node, at a hundred times real speed.
type rig struct {
	*simnode.Fleet
	client *fake.Clientset
	seen   chan seen
	errs   chan error
}

type seen struct {
	Name, Node string
	Phase      simnode.Phase
}

func newRig(t *testing.T, c simnode.Config) *rig {
	t.Helper()
	r := &rig{client: fake.NewClientset(), seen: make(chan seen, 100), errs: make(chan error, 100)}
	c.Client = r.client
	c.Clock = simnode.NewClock(time.Now(), 100)
	c.Observer = func(e simnode.Event) { r.seen <- seen{e.Pod.Name, e.Node, e.Phase} }
	c.OnError = func(err error) { r.errs <- err }
	var err error
	if r.Fleet, err = simnode.Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Err(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	// The fake sends no event for objects deleted between a list and the following watch.
	watches := func(a k8stesting.Action) bool { return a.Matches("watch", "pods") }
	for deadline := time.Now().Add(3 * time.Minute); !slices.ContainsFunc(r.client.Actions(), watches); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the fleet does not watch: %v", r.client.Actions())
		}
	}
	return r
}

func (r *rig) create(t *testing.T, name, node string, annotations map[string]string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), Annotations: annotations,
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}}},
	}
	if _, err := r.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) want(t *testing.T, name, node string, phases ...simnode.Phase) {
	t.Helper()
	for _, phase := range phases {
		if diff := cmp.Diff(seen{name, node, phase}, <-r.seen); diff != "" {
			t.Fatalf("observed (-want +got):\n%s", diff)
		}
	}
}

func TestFleetRunsBoundPods(t *testing.T) {
	r := newRig(t, simnode.Config{})
	r.create(t, "elsewhere", "node-2", nil)
	r.create(t, "a", "node-1", map[string]string{simnode.AnnotationWork: "2.5"})
	r.want(t, "a", "node-1", simnode.Bound, simnode.Running, simnode.Succeeded)
	pod, err := r.client.CoreV1().Pods("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Status.Phase != corev1.PodSucceeded {
		t.Errorf("got phase %s in the API", pod.Status.Phase)
	}
	end := pod.Status.ContainerStatuses[0].State.Terminated
	if end == nil || end.StartedAt.IsZero() || !end.StartedAt.Equal(pod.Status.StartTime) || end.FinishedAt.Before(&end.StartedAt) {
		t.Errorf("started %v, ended %+v", pod.Status.StartTime, end)
	}
}

// A busy API server may time out on a status update; the nodes retry.
func TestFleetRepeatsTimedOutWrites(t *testing.T) {
	r := newRig(t, simnode.Config{})
	var left atomic.Int32
	left.Store(3)
	r.client.PrependReactor("patch", "pods", func(k8stesting.Action) (bool, kuberuntime.Object, error) {
		if left.Add(-1) >= 0 {
			return true, nil, apierrors.NewTimeoutError("busy", 1)
		}
		return false, nil, nil
	})
	r.create(t, "a", "node-1", map[string]string{simnode.AnnotationWork: "0.1"})
	r.want(t, "a", "node-1", simnode.Bound, simnode.Running, simnode.Succeeded)
}

func TestFleetFailsPodsItCannotRun(t *testing.T) {
	for annotation, value := range map[string]string{
		simnode.AnnotationWork:    "much",
		simnode.AnnotationStartup: "-1",
		simnode.AnnotationMemory:  "lots",
	} {
		r := newRig(t, simnode.Config{})
		r.create(t, "a", "node-1", map[string]string{annotation: value})
		r.want(t, "a", "node-1", simnode.Bound, simnode.Failed)
		err := <-r.errs
		var name *field.Error
		if !errors.As(err, &name) || name.Field != annotation || name.Value != value || !errors.Is(err, simnode.ErrBadPod) {
			t.Errorf("%s = %s: error %v", annotation, value, err)
		}
	}
}

func TestFleetKillsDeletedPods(t *testing.T) {
	r := newRig(t, simnode.Config{})
	r.create(t, "a", "node-1", map[string]string{simnode.AnnotationWork: "1e6"})
	r.want(t, "a", "node-1", simnode.Bound, simnode.Running)
	if err := r.client.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "a", "node-1", simnode.Killed)
}

func TestFleetReportsPodsDeletedUnbound(t *testing.T) {
	r := newRig(t, simnode.Config{})
	r.create(t, "a", "", nil)
	if err := r.client.CoreV1().Pods("default").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "a", "", simnode.Killed)
}

// place is a custom machine that records the pods it gets.
type place struct {
	name  string
	bound chan simnode.Pod
	end   chan error
}

func newPlace(name string) *place {
	return &place{name: name, bound: make(chan simnode.Pod, 10), end: make(chan error, 1)}
}

func (p *place) Spec() simnode.NodeSpec {
	return simnode.NodeSpec{Name: p.name, Cores: 2, Memory: 1 << 30}
}

func (p *place) Bind(pod simnode.Pod) error {
	p.bound <- pod
	return nil
}

func (p *place) Kill(string) {}

func (p *place) Run(ctx context.Context, _ func(simnode.Transition)) error {
	select {
	case err := <-p.end:
		return err
	case <-ctx.Done():
		return nil
	}
}

// A machine gets what a pod declares, and the documented defaults for the rest.
func TestFleetReadsAnnotations(t *testing.T) {
	p := newPlace("mine")
	r := newRig(t, simnode.Config{Machines: []simnode.Machine{p}})
	if n := len(r.Nodes()); n > 0 {
		t.Errorf("got %d simulated nodes beside a machine", n)
	}
	r.create(t, "declared", "mine", map[string]string{
		simnode.AnnotationWork: "1.5", simnode.AnnotationMemory: "1Gi", simnode.AnnotationStartup: "0.25",
	})
	want := simnode.Pod{UID: "uid-declared", Work: 1500 * time.Millisecond, Memory: 1 << 30, Startup: 250 * time.Millisecond}
	if diff := cmp.Diff(want, <-p.bound); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	r.create(t, "bare", "mine", nil)
	got := <-p.bound
	if got.Startup <= 0 {
		t.Errorf("got startup latency %v", got.Startup)
	}
	got.Startup = 0
	if diff := cmp.Diff(simnode.Pod{UID: "uid-bare", Work: 5 * time.Second, Memory: 64 << 20}, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	for _, refused := range []map[string]string{
		{simnode.AnnotationWork: "NaN"}, {simnode.AnnotationWork: "1e300"}, {simnode.AnnotationWork: "-1"}, {simnode.AnnotationMemory: "-1Gi"},
	} {
		r.create(t, fmt.Sprint(refused), "mine", refused)
		if err := <-r.errs; !errors.Is(err, simnode.ErrBadPod) {
			t.Errorf("%v: error %v", refused, err)
		}
	}
}

func TestFleetFailsWithAMachine(t *testing.T) {
	broken := errors.New("broken")
	cancelled := fmt.Errorf("a request of its own: %w", context.Canceled)
	for name, reason := range map[string]error{"by an error": broken, "without a word": nil, "by what it cancelled itself": cancelled} {
		t.Run(name, func(t *testing.T) {
			p := newPlace("mine")
			fleet, err := simnode.Start(t.Context(), simnode.Config{Client: fake.NewClientset(), Machines: []simnode.Machine{p}})
			if err != nil {
				t.Fatal(err)
			}
			if err := fleet.Err(); err != nil {
				t.Errorf("got error %v before the end", err)
			}
			p.end <- reason
			<-fleet.Failed()
			if err := fleet.Err(); !strings.Contains(err.Error(), "node mine") || reason != nil && !errors.Is(err, reason) {
				t.Errorf("error %v", err)
			}
			if err := fleet.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// Nodes join with their resources, and leave with their fleet; older nodes stay.
func TestFleetJoinsAndLeaves(t *testing.T) {
	client := fake.NewClientset()
	if err := simnode.Register(t.Context(), client, simnode.NodeSpec{Name: "zone-a-02", Cores: 1}); err != nil {
		t.Fatal(err)
	}
	fleet, err := simnode.Start(t.Context(), simnode.Config{
		Client: client, Nodes: 11, Prefix: "zone-a-", Labels: map[string]string{"zone": "a"},
		Params: simnode.Params{Cores: 8, Memory: 1 << 34},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := nodeNames(t, client)
	if len(got) != 11 || got[0] != "zone-a-01" || got[10] != "zone-a-11" {
		t.Errorf("nodes %v", got)
	}
	if n := fleet.Nodes(); len(n) != 11 || n[2].Name() != "zone-a-03" {
		t.Errorf("got %d simulated nodes", len(n))
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "zone-a-03", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a := node.Status.Allocatable; a.Cpu().Value() != 8 || a.Memory().Value() != 1<<34 || node.Labels["zone"] != "a" || node.Labels[corev1.LabelHostname] != "zone-a-03" {
		t.Errorf("node %v with %v", node.Labels, node.Status.Allocatable)
	}
	for range 2 { // a second Close is no error
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := nodeNames(t, client); !slices.Equal(got, []string{"zone-a-02"}) {
		t.Errorf("got remaining nodes %v", got)
	}
}

func nodeNames(t *testing.T, client *fake.Clientset) []string {
	t.Helper()
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range nodes.Items {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

func TestStartRefuses(t *testing.T) {
	client := fake.NewClientset()
	twice := []simnode.Machine{newPlace("mine"), newPlace("mine")}
	for name, c := range map[string]simnode.Config{
		"Cluster":  {},
		"Nodes":    {Client: client, Nodes: -1},
		"Params":   {Client: client, Params: simnode.Params{Cores: -1}},
		"Machines": {Client: client, Machines: twice},
	} {
		fleet, err := simnode.Start(t.Context(), c)
		var refused *field.Error
		if fleet != nil || !errors.As(err, &refused) || refused.Field != name || !errors.Is(err, simnode.ErrInvalid) {
			t.Errorf("%s: %v, error %v", name, fleet, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := simnode.Start(ctx, simnode.Config{Cluster: &rest.Config{Host: "http://127.0.0.1:1"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: got error %v", err)
	}
	if got := nodeNames(t, client); len(got) > 0 {
		t.Errorf("got remaining nodes %v", got)
	}
}

// A start that fails midway cleans up.
func TestFailedStartLeavesNothing(t *testing.T) {
	client := fake.NewClientset()
	full := errors.New("full")
	client.PrependReactor("create", "nodes", func(a k8stesting.Action) (bool, kuberuntime.Object, error) {
		node := a.(k8stesting.CreateAction).GetObject().(*corev1.Node)
		return node.Name == "node-3", nil, full
	})
	if _, err := simnode.Start(t.Context(), simnode.Config{Client: client, Nodes: 3}); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	if got := nodeNames(t, client); len(got) > 0 {
		t.Errorf("got remaining nodes %v", got)
	}
}

// Close waits for every goroutine of a busy fleet, and no event follows.
func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	client := fake.NewClientset()
	var events atomic.Int64
	running := make(chan struct{}, 10)
	fleet, err := simnode.Start(t.Context(), simnode.Config{
		Client: client, Nodes: 3, Clock: simnode.NewClock(time.Now(), 100),
		Observer: func(e simnode.Event) {
			events.Add(1)
			if e.Phase == simnode.Running {
				running <- struct{}{}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i)),
				Annotations: map[string]string{simnode.AnnotationWork: "1e6"},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i+1)},
		}
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		<-running
	}
	if err := fleet.Close(); err != nil {
		t.Error(err)
	}
	at := events.Load()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		buffer := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, buffer[:runtime.Stack(buffer, true)])
	}
	if n := events.Load(); n != at {
		t.Errorf("got %d events after Close", n-at)
	}
}

func TestRegister(t *testing.T) {
	client := fake.NewClientset()
	for range 2 { // a second registration is no error
		spec := simnode.NodeSpec{Name: "node-1", Cores: 4, Memory: 1 << 34}
		if err := simnode.Register(t.Context(), client, spec); err != nil {
			t.Fatal(err)
		}
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(node.Status.Allocatable.Cpu(), " ", node.Status.Allocatable.Memory(), " ",
		node.Status.Allocatable.Pods(), " ", node.Status.Conditions[0].Type, " ", node.Status.Conditions[0].Status)
	if want := "4 16Gi 110 Ready True"; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
}

// TestRegisterBesideOthers: a controller that updates the node between its creation and its status
// update is no error.
func TestRegisterBesideOthers(t *testing.T) {
	client := fake.NewClientset()
	conflicts := 1
	client.PrependReactor("update", "nodes", func(k8stesting.Action) (bool, kuberuntime.Object, error) {
		if conflicts--; conflicts < 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "node-1", errors.New("the object has been modified"))
	})
	if err := simnode.Register(t.Context(), client, simnode.NodeSpec{Name: "node-1", Cores: 4, Memory: 1 << 34}); err != nil {
		t.Fatal(err)
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil || node.Status.Allocatable.Cpu().Value() != 4 {
		t.Errorf("status %v, %v", node.Status.Allocatable, err)
	}
}
