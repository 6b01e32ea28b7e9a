package testbeds

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// install makes the API server serve a kind.
func (r *rig) install(kind schema.GroupVersionResource) {
	r.Helper()
	file := "testdata/sparkapplications.yaml"
	if kind == flinkDeployments {
		file = flinkDefinition()
	}
	defineFrom(r.T, clientOf(r.T, r.config), file, kind)
}

func flinkDefinition() string {
	if *cluster.FlinkCRD != "" {
		return *cluster.FlinkCRD
	}
	return "testdata/flinkdeployments.yaml"
}

// uninstall removes a kind.
func (r *rig) uninstall(kind schema.GroupVersionResource) {
	r.Helper()
	client, err := dynamic.NewForConfig(r.config)
	if err != nil {
		r.Fatal(err)
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_ = client.Resource(definitions).Delete(r.Context(), kind.GroupResource().String(), metav1.DeleteOptions{})
	r.eventually(kind.Resource+" are not served", func() (bool, any) {
		_, err := client.Resource(kind).Namespace(r.namespace).List(r.Context(), metav1.ListOptions{})
		_, there := client.Resource(definitions).Get(r.Context(), kind.GroupResource().String(), metav1.GetOptions{})
		return err != nil && there != nil, fmt.Sprint(err, there)
	})
}

// operate starts the double of an operator.
func (r *rig) operate(kind schema.GroupVersionResource, faults operatorFaults) *operatorDouble {
	r.Helper()
	double, err := startDouble(r.Context(), doubleConfig{
		Cluster: r.config, Kinds: []schema.GroupVersionResource{kind},
		Faults:  func(schema.GroupVersionResource, types.NamespacedName) operatorFaults { return faults },
		OnError: func(err error) { r.Error(err) },
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(double.Close)
	return double
}

// end ends the application of a job whose pods run forever.
func (r *rig) end(kind schema.GroupVersionResource, job string) {
	r.Helper()
	metadata := map[string]any{"annotations": takes("0")}
	spec := map[string]any{"executor": metadata}
	if kind == flinkDeployments {
		spec = map[string]any{"taskManager": map[string]any{"podTemplate": map[string]any{"metadata": metadata}}}
	}
	patch := rawOf(r.T, map[string]any{"spec": spec}).Raw
	var name string
	r.eventually(job+" names its application", func() (bool, any) { // its pods may exist before it does
		if application := r.getJob(job).Status.Application; application != nil {
			name = application.Name
		}
		return name != "", nil
	})
	if _, err := clientOf(r.T, r.config).Resource(kind).Namespace(r.namespace).Patch(r.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		r.Fatal(err)
	}
}

// sparkJob creates a Spark job whose executors take so many seconds.
func (r *rig) sparkJob(name, seconds string, edit func(executor map[string]any)) {
	r.Helper()
	executor := map[string]any{"annotations": takes(seconds)}
	if edit != nil {
		edit(executor)
	}
	spec := map[string]any{
		"type": "Scala", "mode": "cluster", "image": "spazio.invalid/spark", "sparkVersion": "3.5.0",
		"mainClass": "org.apache.spark.examples.SparkPi", "mainApplicationFile": "local:///examples.jar",
		"driver": map[string]any{"memory": "512m", "annotations": map[string]string{"spazio-scheduler.github.io/startup-seconds": "0.01"}}, "executor": executor,
	}
	r.create(&v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BatchJobSpec{SparkSpec: rawOf(r.T, spec)}})
}

func (r *rig) waitRun(job string, outcome v1alpha1.Outcome) v1alpha1.Run {
	r.Helper()
	state := v1alpha1.BatchJobCompleted
	if outcome == v1alpha1.Failed {
		state = v1alpha1.BatchJobFailed
	}
	r.waitJob(job, state)
	runs := r.getJob(job).Status.Runs
	if len(runs) == 0 || runs[len(runs)-1].Outcome != outcome || runs[len(runs)-1].Finished == nil {
		r.Fatalf("%s: runs %+v, want %s", job, runs, outcome)
	}
	return runs[len(runs)-1]
}

// A Spark job runs with all its executors in its slots, whether the operator's webhook or their
// template places them, and whatever the operator does in between.
func TestBatchJobOverSpark(t *testing.T) {
	template := func(executor map[string]any) {
		executor["template"] = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "spark-kubernetes-executor"}}}}
	}
	for _, test := range []struct {
		name   string
		faults operatorFaults
		edit   func(map[string]any)
		want   v1alpha1.Outcome
		reason string
	}{
		{"webhook", operatorFaults{}, nil, v1alpha1.Succeeded, ""},
		{"template", operatorFaults{WebhookOff: true}, template, v1alpha1.Succeeded, ""},
		{"skips", operatorFaults{SkipStates: true}, nil, v1alpha1.Succeeded, ""},
		{"unplaced", operatorFaults{WebhookOff: true}, nil, v1alpha1.Failed, v1alpha1.ReasonWebhookMissing},
		{"unsubmitted", operatorFaults{FailSubmission: true}, nil, v1alpha1.Failed, ""},
		{"fails", operatorFaults{Fail: true}, nil, v1alpha1.Failed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, 2)
			r.install(sparkApplications)
			r.schedule(nil)
			r.control(controller.Options{}, nil)
			r.testbed("bed", 2)
			r.waitCounts("bed", 4, 0, 0)
			r.operate(sparkApplications, test.faults)
			r.sparkJob("job", forever, test.edit)
			r.queue("first", "bed", []string{"job", "job", "job"})
			if !test.faults.FailSubmission && test.reason == "" {
				r.waitStanding(v1alpha1.RoleSlot, r.slot(1, 0), r.slot(2, 0), r.slot(1, 1))
				r.end(sparkApplications, "job")
			}
			run := r.waitRun("job", test.want)
			if test.reason != "" && run.Reason != test.reason {
				t.Errorf("reason %q, want %q", run.Reason, test.reason)
			}
			r.waitCounts("bed", 4, 0, 0)
			r.finish()
		})
	}
}

// A lost executor is replaced by its driver, in the same slot, and a restarted operator continues.
func TestBatchJobExecutorLost(t *testing.T) {
	r := newRig(t, 2)
	r.install(sparkApplications)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 1)
	double := r.operate(sparkApplications, operatorFaults{})
	r.sparkJob("job", forever, nil)
	r.queue("first", "bed", []string{"job", "job"})
	r.waitJob("job", v1alpha1.BatchJobRunning)
	executors := r.pods(v1alpha1.RoleSlot)
	double.Close()
	r.delete(&corev1.Pod{}, executors[0].Name)
	r.operate(sparkApplications, operatorFaults{})
	r.eventually("another executor is in the slot", func() (bool, any) {
		now := r.pods(v1alpha1.RoleSlot)
		return len(now) == 2 && !slices.ContainsFunc(now, func(p corev1.Pod) bool { return p.UID == executors[0].UID }) &&
			!slices.ContainsFunc(now, func(p corev1.Pod) bool { return p.Spec.NodeName == "" }), len(now)
	})
	r.waitStanding(v1alpha1.RoleSlot, r.slot(1, 0), r.slot(2, 0))
	r.end(sparkApplications, "job")
	r.waitRun("job", v1alpha1.Succeeded)
	if runs := r.getJob("job").Status.Runs; len(runs) != 1 {
		t.Errorf("runs %+v", runs)
	}
	r.waitCounts("bed", 2, 0, 0)
	r.finish()
}

// A Flink job runs with its task managers in its slots, which upstream's controllers create, and they
// are deleted when it has finished.
func TestBatchJobOverFlink(t *testing.T) {
	for _, test := range []struct {
		name   string
		faults operatorFaults
		want   v1alpha1.Outcome
	}{
		{"finishes", operatorFaults{}, v1alpha1.Succeeded},
		{"skips", operatorFaults{SkipStates: true}, v1alpha1.Succeeded},
		{"fails", operatorFaults{Fail: true}, v1alpha1.Failed},
		{"undeployed", operatorFaults{FailSubmission: true}, v1alpha1.Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, 2)
			r.install(flinkDeployments)
			r.schedule(nil)
			r.control(controller.Options{}, nil)
			r.testbed("bed", 2)
			r.waitCounts("bed", 4, 0, 0)
			r.operate(flinkDeployments, test.faults)
			spec := map[string]any{
				"image": "spazio.invalid/flink", "flinkVersion": "v1_20",
				"job":         map[string]any{"jarURI": "local:///examples.jar", "parallelism": 3, "upgradeMode": "stateless"},
				"jobManager":  map[string]any{"resource": map[string]any{"cpu": .5, "memory": "1024m"}},
				"taskManager": map[string]any{"podTemplate": map[string]any{"metadata": map[string]any{"annotations": takes(forever)}}},
			}
			r.create(&v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: v1alpha1.BatchJobSpec{FlinkSpec: rawOf(t, spec)}})
			r.queue("first", "bed", []string{"job", "job", "job"})
			if !test.faults.FailSubmission {
				r.waitStanding(v1alpha1.RoleSlot, r.slot(1, 0), r.slot(2, 0), r.slot(1, 1))
				r.end(flinkDeployments, "job")
			}
			r.waitRun("job", test.want)
			r.delete(&v1alpha1.Scheduling{}, "first")
			r.waitJob("job", v1alpha1.BatchJobReady)
			r.waitCounts("bed", 4, 0, 0)
			r.eventually("no task manager is left", func() (bool, any) {
				all, err := r.plain.AppsV1().Deployments(r.namespace).List(r.Context(), metav1.ListOptions{})
				return err == nil && len(all.Items) == 0, []any{err, names(all.Items)}
			})
			r.finish()
		})
	}
}

func names(deployments []appsv1.Deployment) (all []string) {
	for i := range deployments {
		all = append(all, deployments[i].Name)
	}
	return all
}

// A job without an operator reports that and blocks no other job; it runs once the operator is
// installed.
func TestOperatorMissingThenInstalled(t *testing.T) {
	r := newRig(t, 1)
	r.uninstall(sparkApplications)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	r.waitCounts("bed", 2, 0, 0)
	r.sparkJob("job", "0.1", nil)
	r.job("other", "0.1")
	r.queue("first", "bed", []string{"job", "job"})
	r.waitCondition("job", v1alpha1.BatchJobValid, "False", v1alpha1.ReasonOperatorMissing, func() []metav1.Condition {
		return r.getJob("job").Status.Conditions
	})
	r.queue("second", "bed", []string{"other", "other"})
	r.waitScheduling("second", v1alpha1.SchedulingCompleted)
	r.install(sparkApplications)
	r.operate(sparkApplications, operatorFaults{})
	r.waitRun("job", v1alpha1.Succeeded)
	r.waitCounts("bed", 2, 0, 0)
	r.finish()
}
