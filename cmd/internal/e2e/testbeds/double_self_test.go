package testbeds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// doubleBed is a cluster with one application, whose written states are recorded.
type doubleBed struct {
	*testing.T
	kind   schema.GroupVersionResource
	client *kubefake.Clientset
	custom *fake.FakeDynamicClient
	faults operatorFaults
	passes atomic.Int64 // over the application
	states []string
}

func newDoubleBed(t *testing.T, kind schema.GroupVersionResource, faults operatorFaults, spec string) *doubleBed {
	t.Helper()
	names := map[schema.GroupVersionResource]string{
		sparkApplications: "SparkApplication", flinkDeployments: "FlinkDeployment",
	}
	application := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("{metadata: {name: app, namespace: default, uid: a99}, spec: "+spec+"}"), &application.Object); err != nil {
		t.Fatal(err)
	}
	application.SetGroupVersionKind(kind.GroupVersion().WithKind(names[kind]))
	b := &doubleBed{T: t, kind: kind, faults: faults, client: kubefake.NewClientset()}
	b.custom = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{kind: names[kind] + "List"}, application)
	b.custom.PrependReactor("update", kind.Resource, func(a k8stesting.Action) (bool, runtime.Object, error) {
		b.states = append(b.states, stateOf(a.(k8stesting.UpdateAction).GetObject().(*unstructured.Unstructured)))
		return false, nil, nil
	})
	return b
}

// stateOf returns the states in an application's status.
func stateOf(o *unstructured.Unstructured) string {
	var all []string
	for _, path := range [][]string{{"applicationState", "state"}, {"lifecycleState"}, {"jobManagerDeploymentStatus"}, {"jobStatus", "state"}} {
		if s, _, _ := unstructured.NestedString(o.Object, append([]string{"status"}, path...)...); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, " ")
}

func (b *doubleBed) start() *operatorDouble {
	b.Helper()
	d, err := startDouble(b.Context(), doubleConfig{
		Client: b.client, Custom: b.custom, Kinds: []schema.GroupVersionResource{b.kind},
		Faults: func(schema.GroupVersionResource, types.NamespacedName) operatorFaults {
			b.passes.Add(1)
			return b.faults
		},
		OnError: func(err error) { b.Error(err) },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(d.Close)
	return d
}

func (b *doubleBed) state() string {
	b.Helper()
	o, err := b.custom.Resource(b.kind).Namespace("default").Get(b.Context(), "app", metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return stateOf(o)
}

func (b *doubleBed) waitState(want string) {
	b.Helper()
	cluster.Eventually(b.T, "state "+want, func() (bool, any) { got := b.state(); return got == want, got })
}

// stays checks that the double has looked again and left the state unchanged.
func (b *doubleBed) stays(want string) {
	b.Helper()
	enough := b.passes.Load() + 5
	cluster.Eventually(b.T, "the double looks again", func() (bool, any) { n := b.passes.Load(); return n >= enough, n })
	if got := b.state(); got != want {
		b.Errorf("state %s, want %s", got, want)
	}
}

func (b *doubleBed) pods() []corev1.Pod { return podsOf(b.T, b.client) }

func podsOf(t *testing.T, client kubernetes.Interface) []corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

func (b *doubleBed) waitPods(want ...string) {
	b.Helper()
	cluster.Eventually(b.T, fmt.Sprint("pods ", want), func() (bool, any) {
		var got []string
		for _, pod := range b.pods() {
			got = append(got, pod.Name)
		}
		return slices.Equal(got, want), got
	})
}

// run marks pods as running since long ago.
func (b *doubleBed) run(names ...string) {
	b.Helper()
	for _, name := range names {
		b.runSince(name, time.Now().Add(-time.Hour))
	}
}

func (b *doubleBed) runSince(name string, since time.Time) {
	b.Helper()
	b.setStatus(name, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)},
	}}}})
}

func (b *doubleBed) setStatus(name string, status corev1.PodStatus) {
	b.Helper()
	pod, err := b.client.CoreV1().Pods("default").Get(b.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	pod.Status = status
	if _, err := b.client.CoreV1().Pods("default").UpdateStatus(b.Context(), pod, metav1.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
}

const sparkApplication = `{
	image: mine, driver: {memory: 512m, cores: 2},
	executor: {instances: 2, cores: 1, coreRequest: 700m, memory: 450m, memoryOverhead: 384m, schedulerName: slots, priorityClassName: high,
		labels: {mine: "yes"}, annotations: {spazio-scheduler.github.io/cpu-seconds: "60"}}}`

// Spark's pods have the configured size, and ended ones are replaced under new names.
func TestSpark(t *testing.T) {
	b := newDoubleBed(t, sparkApplications, operatorFaults{}, sparkApplication)
	d := b.start()
	b.waitPods("app-driver")
	driver := b.pods()[0]
	if r := driver.Spec.Containers[0].Resources.Requests; r.Cpu().Value() != 2 || r.Memory().Value() != 896<<20 || driver.Annotations[simnode.AnnotationIdle] != "true" {
		t.Errorf("driver %+v", driver)
	}
	b.run("app-driver")
	b.waitState("RUNNING")
	b.waitPods("app-driver", "app-exec-1", "app-exec-2")
	executor := b.pods()[1]
	r := executor.Spec.Containers[0].Resources
	if r.Requests.Cpu().MilliValue() != 700 || r.Requests.Memory().Value() != 834<<20 || r.Limits.Memory().Value() != 834<<20 ||
		executor.Spec.SchedulerName != "slots" || executor.Spec.PriorityClassName != "high" || executor.Labels["mine"] != "yes" ||
		executor.Labels["spark-role"] != "executor" || executor.Spec.RestartPolicy != corev1.RestartPolicyNever ||
		executor.Annotations[simnode.AnnotationIdle] != "true" || executor.Annotations[simnode.AnnotationWork] != "" {
		t.Errorf("executor %+v", executor)
	}
	d.Close()
	if err := b.client.CoreV1().Pods("default").Delete(t.Context(), "app-exec-2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.waitPods("app-driver", "app-exec-1", "app-exec-3")
	b.run("app-exec-1", "app-exec-3")
	b.waitState("COMPLETED")
	b.waitPods()
	if got := strings.Join(slices.Compact(b.states), " "); got != "SUBMITTED RUNNING SUCCEEDING COMPLETED" {
		t.Errorf("states %s", got)
	}
}

// Spark's failures.
func TestSparkFaults(t *testing.T) {
	for name, test := range map[string]struct {
		faults operatorFaults
		spec   string
		last   string
		states string
		placed string // the executors' scheduler
	}{
		"submission": {operatorFaults{FailSubmission: true}, sparkApplication, "FAILED", "SUBMISSION_FAILED FAILED", ""},
		"failure":    {operatorFaults{Fail: true}, sparkApplication, "FAILED", "SUBMITTED RUNNING FAILING FAILED", "slots"},
		"skips":      {operatorFaults{SkipStates: true}, sparkApplication, "COMPLETED", "SUBMITTED COMPLETED", "slots"},
		"webhook":    {operatorFaults{WebhookOff: true}, sparkApplication, "COMPLETED", "SUBMITTED RUNNING SUCCEEDING COMPLETED", ""},
		"template": {operatorFaults{WebhookOff: true},
			strings.Replace(sparkApplication, "labels:", "template: {metadata: {labels: {more: all}}, spec: {schedulerName: template, containers: [{name: main}]}}, labels:", 1),
			"COMPLETED", "SUBMITTED RUNNING SUCCEEDING COMPLETED", "template"},
		"template, not webhook": {operatorFaults{},
			strings.Replace(sparkApplication, "labels:", "template: {spec: {containers: [{name: main}]}}, labels:", 1),
			"COMPLETED", "SUBMITTED RUNNING SUCCEEDING COMPLETED", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newDoubleBed(t, sparkApplications, test.faults, test.spec)
			b.start()
			if !test.faults.FailSubmission {
				b.waitPods("app-driver")
				b.run("app-driver")
				b.waitPods("app-driver", "app-exec-1", "app-exec-2")
				for _, pod := range b.pods()[1:] {
					if pod.Spec.SchedulerName != test.placed || pod.Labels["mine"] != "yes" {
						t.Errorf("%+v", pod)
					}
				}
				b.run("app-exec-1", "app-exec-2")
			}
			b.waitState(test.last)
			b.waitPods()
			if got := strings.Join(slices.Compact(b.states), " "); got != test.states {
				t.Errorf("states %s, want %s", got, test.states)
			}
		})
	}
}

// An application whose driver is gone has failed.
func TestSparkDriverLost(t *testing.T) {
	b := newDoubleBed(t, sparkApplications, operatorFaults{}, sparkApplication)
	b.start()
	b.waitPods("app-driver")
	b.run("app-driver")
	b.waitPods("app-driver", "app-exec-1", "app-exec-2")
	if err := b.client.CoreV1().Pods("default").Delete(t.Context(), "app-driver", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.waitState("FAILED")
	b.waitPods()
}

const flinkDeployment = `{
	image: mine, podTemplate: {metadata: {labels: {all: "yes"}}, spec: {containers: [{name: flink-main-container}]}},
	jobManager: {resource: {cpu: 0.5, memory: 1024m}},
	taskManager: {replicas: 2, resource: {cpu: 0.7, memory: 896m}, podTemplate: {
		metadata: {labels: {mine: "yes"}, annotations: {spazio-scheduler.github.io/cpu-seconds: "60", spazio-scheduler.github.io/cores: "2"}},
		spec: {schedulerName: slots, containers: []}}}}`

func (b *doubleBed) deployment(name string) *appsv1.Deployment {
	b.Helper()
	var d *appsv1.Deployment
	cluster.Eventually(b.T, "Deployment "+name, func() (bool, any) {
		var err error
		d, err = b.client.AppsV1().Deployments("default").Get(b.Context(), name, metav1.GetOptions{})
		return err == nil, err
	})
	return d
}

// manage creates the pods of a Deployment, as its controllers would.
func (b *doubleBed) manage(d *appsv1.Deployment) {
	b.Helper()
	for i := range *d.Spec.Replicas {
		pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: d.Spec.Template.Spec}
		pod.Name = fmt.Sprint(d.Name, "-", i)
		if _, err := b.client.CoreV1().Pods("default").Create(b.Context(), pod, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
		b.run(pod.Name)
	}
}

// Flink's pods belong to Deployments and outlive the job.
func TestFlink(t *testing.T) {
	for name, test := range map[string]struct {
		faults operatorFaults
		states string
	}{
		"finishes": {operatorFaults{}, "CREATED MISSING, DEPLOYED DEPLOYING RECONCILING, DEPLOYED READY RUNNING, STABLE READY RUNNING, STABLE READY FINISHED"},
		"fails":    {operatorFaults{Fail: true}, "CREATED MISSING, DEPLOYED DEPLOYING RECONCILING, DEPLOYED READY RUNNING, STABLE READY RUNNING, STABLE READY FAILED"},
		"skips":    {operatorFaults{SkipStates: true}, "CREATED MISSING, DEPLOYED DEPLOYING RECONCILING, STABLE READY FINISHED"},
		"never":    {operatorFaults{FailSubmission: true}, "FAILED MISSING"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newDoubleBed(t, flinkDeployments, test.faults, flinkDeployment)
			b.start()
			if !test.faults.FailSubmission {
				manager, workers := b.deployment("app"), b.deployment("app-taskmanager")
				pod := workers.Spec.Template
				r := pod.Spec.Containers[0].Resources
				if *workers.Spec.Replicas != 2 || r.Requests.Cpu().MilliValue() != 700 || r.Limits.Memory().Value() != 896<<20 ||
					pod.Spec.SchedulerName != "slots" || pod.Labels["mine"] != "yes" || pod.Labels["all"] != "yes" || pod.Labels["component"] != "taskmanager" ||
					pod.Annotations[simnode.AnnotationCores] != "2" || pod.Annotations[simnode.AnnotationWork] != "1000000000" {
					t.Errorf("task managers %+v", workers)
				}
				if r := manager.Spec.Template.Spec.Containers[0].Resources.Requests; r.Cpu().MilliValue() != 500 || r.Memory().Value() != 1<<30 || manager.Spec.Template.Labels["mine"] != "" {
					t.Errorf("job manager %+v", manager)
				}
				b.manage(manager)
				b.manage(workers)
			}
			states := strings.Split(test.states, ", ")
			b.waitState(states[len(states)-1])
			if got := strings.Join(slices.Compact(b.states), ", "); got != test.states {
				t.Errorf("states %s, want %s", got, test.states)
			}
			if !test.faults.FailSubmission && len(b.pods()) != 3 {
				t.Errorf("got %d remaining pods", len(b.pods()))
			}
		})
	}
}

// No application ends before its time, which begins when the last of its pods runs.
func TestTakesItsTime(t *testing.T) {
	later := time.Now().Add(time.Hour) // in the future, so that no time has passed, however slow the machine
	t.Run("Spark", func(t *testing.T) {
		b := newDoubleBed(t, sparkApplications, operatorFaults{}, sparkApplication)
		b.start()
		b.waitPods("app-driver")
		b.run("app-driver")
		b.waitPods("app-driver", "app-exec-1", "app-exec-2")
		b.run("app-exec-1")
		b.stays("RUNNING")
		b.runSince("app-exec-2", later)
		b.stays("RUNNING")
		b.run("app-exec-2")
		b.waitState("COMPLETED")
	})
	t.Run("Flink", func(t *testing.T) {
		b := newDoubleBed(t, flinkDeployments, operatorFaults{}, flinkDeployment)
		b.start()
		manager, workers := b.deployment("app"), b.deployment("app-taskmanager")
		b.waitState("DEPLOYED DEPLOYING RECONCILING")
		b.manage(workers)
		b.stays("DEPLOYED DEPLOYING RECONCILING") // without a job manager
		b.setStatus("app-taskmanager-1", corev1.PodStatus{Phase: corev1.PodPending})
		b.manage(manager)
		b.stays("DEPLOYED DEPLOYING RECONCILING")
		b.runSince("app-taskmanager-1", later)
		b.waitState("STABLE READY RUNNING")
		b.stays("STABLE READY RUNNING")
		b.run("app-taskmanager-1")
		b.waitState("STABLE READY FINISHED")
	})
}

// A driver that ends has failed, and an executor that ends is replaced.
func TestSparkPodsEnd(t *testing.T) {
	b := newDoubleBed(t, sparkApplications, operatorFaults{}, sparkApplication)
	b.start()
	b.waitPods("app-driver")
	b.run("app-driver")
	b.waitPods("app-driver", "app-exec-1", "app-exec-2")
	b.setStatus("app-exec-1", corev1.PodStatus{Phase: corev1.PodFailed})
	b.waitPods("app-driver", "app-exec-1", "app-exec-2", "app-exec-3")
	b.setStatus("app-driver", corev1.PodStatus{Phase: corev1.PodFailed})
	b.waitState("FAILED")
	b.waitPods()
}

// A deleted application that still exists is not processed.
func TestDeletedIsLeftAlone(t *testing.T) {
	b := newDoubleBed(t, sparkApplications, operatorFaults{}, sparkApplication)
	leaving, err := b.custom.Resource(b.kind).Namespace("default").Get(t.Context(), "app", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leaving.SetName("leaving")
	leaving.SetFinalizers([]string{"example.com/hold"})
	leaving.SetDeletionTimestamp(new(metav1.Now()))
	if _, err := b.custom.Resource(b.kind).Namespace("default").Create(t.Context(), leaving, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.waitPods("app-driver")
	b.stays("SUBMITTED")
	b.waitPods("app-driver")
}

// An application that cannot run is reported, and the double continues.
func TestDoubleReportsErrors(t *testing.T) {
	b := newDoubleBed(t, sparkApplications, operatorFaults{}, strings.Replace(sparkApplication, "512m", "much", 1))
	failed := make(chan error, 1000)
	d, err := startDouble(t.Context(), doubleConfig{
		Client: b.client, Custom: b.custom, Kinds: []schema.GroupVersionResource{b.kind},
		OnError: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := <-failed; !errors.Is(err, errSpec) || !strings.Contains(err.Error(), "memory = much") {
		t.Errorf("error %v", err)
	}
}
