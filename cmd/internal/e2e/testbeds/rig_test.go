package testbeds

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/testcluster/embedded/controllers"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// rig is a cluster of simulated nodes for one test, in a namespace of its own: upstream's controllers
// of Jobs, Deployments, ReplicaSets and garbage, and a recorder that checks the invariants of test
// beds. The test starts our controllers and the scheduler.
type rig struct {
	*testing.T
	config    *rest.Config
	plain     kubernetes.Interface
	objects   client.Client
	namespace string
	label     string // of the rig's nodes
	nodes     []string
	signals   string // the running scheduler's address for reports and rooms
}

// nodeCores is the size of a rig's nodes.
const nodeCores = 4

func newRig(t *testing.T, nodes int) *rig {
	t.Helper()
	kinds := connect(t)
	ctrl.SetLogger(logr.Discard())
	r := &rig{T: t, config: cluster.Plane(t).RESTConfig()}
	r.config.ContentType = "" // custom resources are JSON
	var err error
	if r.plain, err = kubernetes.NewForConfig(r.config); err != nil {
		t.Fatal(err)
	}
	scheme, err := controller.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if r.objects, err = client.New(r.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	r.classes()
	made, err := r.plain.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "rig-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.namespace, r.label = made.Name, "example.com/"+made.Name
	r.join(nodes)
	upstream, err := controllers.Start(t.Context(), cluster.Plane(t), controllers.Options{Discovery: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	record(t, r.plain, kinds, r.namespace)
	return r
}

// classes creates the priority classes, as an installation does.
func (r *rig) classes() {
	r.Helper()
	for _, name := range []string{v1alpha1.PriorityClassPlaceholder, v1alpha1.PriorityClassSlot} {
		class := &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1000, PreemptionPolicy: new(corev1.PreemptNever),
		}
		if _, err := r.plain.SchedulingV1().PriorityClasses().Create(r.Context(), class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			r.Fatal(err)
		}
	}
}

// join adds nodes, labelled in their order.
func (r *rig) join(count int) {
	r.Helper()
	var values []string
	for i := range count {
		values = append(values, strconv.Itoa(len(r.nodes)+i+1))
	}
	r.joinAs(values...)
}

// joinAs adds a node for each value of the label.
func (r *rig) joinAs(values ...string) {
	r.Helper()
	var machines []simnode.Machine
	for _, value := range values {
		name := fmt.Sprintf("%s-%d", r.namespace, len(r.nodes)+1)
		r.nodes = append(r.nodes, name)
		machines = append(machines, simnode.NewTimed(simnode.NodeSpec{
			Name: name, Cores: nodeCores, Memory: 16 << 30, Labels: map[string]string{r.label: value},
		}, nil))
	}
	if len(machines) > 0 {
		cluster.Join(r.T, simnode.Config{Client: r.plain, Machines: machines})
	}
}

// slot returns the ID of a slot on the n-th node, from 1.
func (r *rig) slot(node, position int) string { return fmt.Sprintf("%s/%d", r.nodes[node-1], position) }

// managed runs our controllers.
type managed struct {
	stop func() // waits for the end
}

// control starts controllers as the program does, except for the leader's lease, until stop or the
// test's end. Their requests go through the gate, if there is one.
func (r *rig) control(o controller.Options, g *gate) *managed {
	r.Helper()
	access := r.config
	if g != nil {
		access = g.wrap(access)
	}
	scheme, err := controller.Scheme()
	if err != nil {
		r.Fatal(err)
	}
	o.Namespaces = []string{r.namespace}
	mgr, err := ctrl.NewManager(access, ctrl.Options{
		Scheme: scheme, Cache: controller.Cache(o.Namespaces), Logger: logr.Discard(),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		// Several run in this process.
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		r.Fatal(err)
	}
	if err := controller.Add(mgr, o); err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil && (g == nil || !g.isClosed()) {
			r.Errorf("controllers: %v", err)
		}
	})
	stop := sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	r.Cleanup(stop)
	return &managed{stop}
}

// kill ends controllers as SIGKILL does: none of their final requests gets through.
func (m *managed) kill(g *gate) {
	g.close()
	m.stop()
}

// schedule runs a scheduler in this process, until stop or the test's end. Only one may run at a time.
func (r *rig) schedule(g *gate) (stop func()) {
	r.Helper()
	if g == nil {
		g = newGate(nil)
	}
	r.signals, stop = runScheduler(r.T, g.kubeconfig(r.T, cluster.Plane(r.T).RESTConfig()))
	return stop
}

// runScheduler runs a scheduler in this process, until stop or the test's end. signals is its address
// for reports.
func runScheduler(t *testing.T, kubeconfig string) (signals string, stop func()) {
	t.Helper()
	s, err := service.New(t.Context(), service.Config{
		Kubeconfig: kubeconfig, Args: plugin.SpazioArgs{Listen: "127.0.0.1:0"}, Slots: &config.SpazioSlotsArgs{},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("scheduler: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return s.Hub().Addr().String(), stop
}

// create creates an object in the rig's namespace.
func (r *rig) create(o client.Object) {
	r.Helper()
	o.SetNamespace(r.namespace)
	if err := insist(func() error { return r.objects.Create(r.Context(), o) }); err != nil {
		r.Fatalf("create %s: %v", o.GetName(), err)
	}
}

// amounts returns a list of CPU and memory.
func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// testbed creates a Testbed of so many one-core slots on each of the rig's nodes.
func (r *rig) testbed(name string, slots int, edit ...func(*v1alpha1.TestbedSpec)) {
	r.Helper()
	t := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TestbedSpec{
		NodeLabel: r.label, SlotsPerNode: intstr.FromInt(slots), ResourcesPerSlot: amounts("1", "1Gi"),
	}}
	for _, e := range edit {
		e(&t.Spec)
	}
	r.create(t)
}

// takes returns the annotations of simulated work of so many seconds, without startup time.
func takes(seconds string) map[string]string {
	return map[string]string{simnode.AnnotationWork: seconds, simnode.AnnotationStartup: "0.01"}
}

func rawOf(t *testing.T, o any) *runtime.RawExtension {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: text}
}

// job creates a BatchJob whose pods take so many seconds.
func (r *rig) job(name, seconds string, edit ...func(*v1alpha1.BatchJobSpec)) {
	r.Helper()
	j := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: name}}
	j.Spec.JobSpec = rawOf(r.T, map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": takes(seconds)},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "spazio.invalid/none"}}},
	}})
	for _, e := range edit {
		e(&j.Spec)
	}
	r.create(j)
}

// forever is the work of a job that has to be released.
const forever = "1e6"

// queue creates a Scheduling of jobs, with each entry for one slot.
func (r *rig) queue(name, testbed string, jobs []string, edit ...func(*v1alpha1.SchedulingSpec)) {
	r.Helper()
	s := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.Testbed.Name = testbed
	for _, job := range jobs {
		s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: job})
	}
	for _, e := range edit {
		e(&s.Spec)
	}
	r.create(s)
}

func fetch[T client.Object](r *rig, name string, o T) T {
	r.Helper()
	key := client.ObjectKey{Namespace: r.namespace, Name: name}
	if err := insist(func() error { return r.objects.Get(r.Context(), key, o) }); err != nil {
		r.Fatalf("get %s: %v", name, err)
	}
	return o
}

func (r *rig) getTestbed(name string) *v1alpha1.Testbed { return fetch(r, name, &v1alpha1.Testbed{}) }
func (r *rig) getJob(name string) *v1alpha1.BatchJob    { return fetch(r, name, &v1alpha1.BatchJob{}) }
func (r *rig) getScheduling(name string) *v1alpha1.Scheduling {
	return fetch(r, name, &v1alpha1.Scheduling{})
}

func (r *rig) pods(role string) []corev1.Pod {
	r.Helper()
	var list corev1.PodList
	if err := insist(func() error {
		return r.objects.List(r.Context(), &list, client.InNamespace(r.namespace), client.MatchingLabels{v1alpha1.LabelRole: role})
	}); err != nil {
		r.Fatal(err)
	}
	return list.Items
}

// eventually waits for a condition.
func (r *rig) eventually(what string, holds func() (bool, any)) {
	r.Helper()
	cluster.Eventually(r.T, what, func() (bool, any) {
		ok, state := holds()
		if !ok {
			time.Sleep(20 * time.Millisecond) // polling must not dominate the other tests' work
		}
		return ok, state
	})
}

// waitCounts waits for a Testbed's slots: free, reserved and occupied.
func (r *rig) waitCounts(testbed string, free, reserved, occupied int32) {
	r.Helper()
	r.eventually(fmt.Sprintf("%s has %d free, %d reserved, %d occupied", testbed, free, reserved, occupied), func() (bool, any) {
		c := r.getTestbed(testbed).Status.Counts
		return c.Free == free && c.Reserved == reserved && c.Occupied == occupied && c.Slots == free+reserved+occupied, c
	})
}

func (r *rig) waitJob(name string, states ...v1alpha1.BatchJobState) {
	r.Helper()
	r.eventually(fmt.Sprintf("%s is %v", name, states), func() (bool, any) {
		j := r.getJob(name)
		return slices.Contains(states, j.Status.State), fmt.Sprintf("%+v", j.Status)
	})
}

func (r *rig) waitScheduling(name string, state v1alpha1.SchedulingState) {
	r.Helper()
	r.eventually(fmt.Sprintf("%s is %s", name, state), func() (bool, any) {
		s := r.getScheduling(name)
		return s.Status.State == state, fmt.Sprintf("%+v", s.Status)
	})
}

// waitCondition waits until the object's condition has the status, and the reason if one is given.
func (r *rig) waitCondition(name, kind, status, reason string, conditions func() []metav1.Condition) {
	r.Helper()
	r.eventually(fmt.Sprintf("%s %s=%s %s", name, kind, status, reason), func() (bool, any) {
		all := conditions()
		c := meta.FindStatusCondition(all, kind)
		return c != nil && string(c.Status) == status && (reason == "" || c.Reason == reason), all
	})
}

// delete deletes an object, in the background as kubectl does.
func (r *rig) delete(o client.Object, name string) {
	r.Helper()
	o.SetNamespace(r.namespace)
	o.SetName(name)
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	if err := insist(func() error { return r.objects.Delete(r.Context(), o, background) }); err != nil && !apierrors.IsNotFound(err) {
		r.Fatalf("delete %s: %v", name, err)
	}
}

// world lists the objects in the rig's namespace.
func (r *rig) world() *world {
	r.Helper()
	var testbeds v1alpha1.TestbedList
	var jobs v1alpha1.BatchJobList
	var schedulings v1alpha1.SchedulingList
	for _, list := range []client.ObjectList{&testbeds, &jobs, &schedulings} {
		if err := insist(func() error { return r.objects.List(r.Context(), list, client.InNamespace(r.namespace)) }); err != nil {
			r.Fatal(err)
		}
	}
	return &world{
		testbeds: testbeds.Items, jobs: jobs.Items, schedulings: schedulings.Items,
		pods: append(r.pods(v1alpha1.RolePlaceholder), r.pods(v1alpha1.RoleSlot)...),
	}
}

// settle waits until nothing is lost and no job waits beside free slots.
func (r *rig) settle() {
	r.Helper()
	r.eventually("nothing is lost, nothing waits beside a free slot", func() (bool, any) {
		faults := r.world().leftovers()
		return len(faults) == 0, faults
	})
}

// finish settles, deletes everything and waits until it is gone, pods included.
func (r *rig) finish() {
	r.Helper()
	r.settle()
	w := r.world()
	for i := range w.schedulings {
		r.delete(&v1alpha1.Scheduling{}, w.schedulings[i].Name)
	}
	for i := range w.jobs {
		r.delete(&v1alpha1.BatchJob{}, w.jobs[i].Name)
	}
	for i := range w.testbeds {
		r.delete(&v1alpha1.Testbed{}, w.testbeds[i].Name)
	}
	r.waitGone()
}

func (r *rig) waitGone() {
	r.Helper()
	r.eventually("all is gone", func() (bool, any) {
		w := r.world()
		left := len(w.testbeds) + len(w.jobs) + len(w.schedulings) + len(w.pods)
		return left == 0, fmt.Sprintf("%d left: %+v", left, w)
	})
}
