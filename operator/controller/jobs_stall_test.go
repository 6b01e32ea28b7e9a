package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// operated returns a lab whose job "a" has a Running run of a kind that an operator runs.
type operated struct {
	*lab
	kind schema.GroupVersionKind
}

func newOperated(t *testing.T, kind schema.GroupVersionKind, spec v1alpha1.BatchJobSpec, status map[string]any) *operated {
	t.Helper()
	l := &operated{newLab(t).withTestbed(1), kind}
	l.kinds.Add(kind, meta.RESTScopeNamespace)
	put(l.lab, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: spec})
	l.withQueue("s", "a").settle()
	l.report(status)
	job := l.job("a")
	put(l.lab, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-r1-exec-1", Labels: map[string]string{
			v1alpha1.LabelRole: v1alpha1.RoleSlot, v1alpha1.LabelBatchJobUID: string(job.UID), v1alpha1.LabelAttempt: "1",
		}},
		Spec: corev1.PodSpec{NodeName: "n0", SchedulerName: v1alpha1.SchedulerName, Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: l.now}}}},
		}},
	})
	l.settle()
	l.want("under way", "a Running, s AwaitingCompletion", l.states("s", "a"))
	return l
}

func (l *operated) child() *unstructured.Unstructured {
	l.t.Helper()
	child := &unstructured.Unstructured{}
	child.SetGroupVersionKind(l.kind)
	l.must(l.api.Get(l.t.Context(), types.NamespacedName{Namespace: "lab", Name: "a-r1"}, child))
	return child
}

// report writes the application's status, as its operator would.
func (l *operated) report(status map[string]any) {
	l.t.Helper()
	child := l.child()
	child.Object["status"] = status
	l.must(l.api.Update(l.t.Context(), child))
}

// pass advances the clock and reconciles every minute.
func (l *lab) pass(span time.Duration) {
	l.t.Helper()
	for end := l.now.Add(span); l.now.Before(end); l.now = l.now.Add(time.Minute) {
		l.settle()
	}
	l.settle()
}

func spark(state string) map[string]any {
	return map[string]any{"applicationState": map[string]any{"state": state}}
}

func flink(state, lifecycle, manager string) map[string]any {
	return map[string]any{"jobStatus": map[string]any{"state": state}, "lifecycleState": lifecycle, "jobManagerDeploymentStatus": manager}
}

// In every state in which an operator can leave its application for good, with and without pods,
// the run fails after the bound, a condition announces it, and the slots become free.
func TestOperatorLeavesRunForEver(t *testing.T) {
	sparkSpec := v1alpha1.BatchJobSpec{SparkSpec: &runtime.RawExtension{Raw: []byte(`{"type":"Scala"}`)}}
	flinkSpec := v1alpha1.BatchJobSpec{FlinkSpec: &runtime.RawExtension{Raw: []byte(`{"job":{"jarURI":"local:///x.jar"}}`)}}
	stable := flink("RUNNING", "STABLE", "READY")
	for name, test := range map[string]struct {
		kind          schema.GroupVersionKind
		spec          v1alpha1.BatchJobSpec
		begins, stays map[string]any
		keepsPods     bool
	}{
		"spark, gone with its pods":         {sparkKind, sparkSpec, spark("RUNNING"), spark("RUNNING"), false},
		"spark SUBMITTED":                   {sparkKind, sparkSpec, spark("RUNNING"), spark("SUBMITTED"), true},
		"spark PENDING_RERUN":               {sparkKind, sparkSpec, spark("RUNNING"), spark("PENDING_RERUN"), false},
		"spark FAILING":                     {sparkKind, sparkSpec, spark("RUNNING"), spark("FAILING"), true},
		"spark SUCCEEDING":                  {sparkKind, sparkSpec, spark("RUNNING"), spark("SUCCEEDING"), false},
		"spark INVALIDATING":                {sparkKind, sparkSpec, spark("RUNNING"), spark("INVALIDATING"), true},
		"spark SUSPENDED":                   {sparkKind, sparkSpec, spark("RUNNING"), spark("SUSPENDED"), false},
		"spark UNKNOWN":                     {sparkKind, sparkSpec, spark("RUNNING"), spark("UNKNOWN"), true},
		"spark, a state of another release": {sparkKind, sparkSpec, spark("RUNNING"), spark("DREAMING"), true},
		"spark, its status taken away":      {sparkKind, sparkSpec, spark("RUNNING"), map[string]any{}, true},
		"flink, gone with its pods":         {flinkKind, flinkSpec, stable, stable, false},
		"flink RECONCILING, no JobManager":  {flinkKind, flinkSpec, stable, flink("RECONCILING", "DEPLOYED", "MISSING"), false},
		"flink RECONCILING, its pods stay":  {flinkKind, flinkSpec, stable, flink("RECONCILING", "DEPLOYED", "MISSING"), true},
		"flink RUNNING, no JobManager":      {flinkKind, flinkSpec, stable, flink("RUNNING", "STABLE", "MISSING"), true},
		"flink DEPLOYING":                   {flinkKind, flinkSpec, stable, flink("", "CREATED", "DEPLOYING"), true},
		"flink SUSPENDED":                   {flinkKind, flinkSpec, stable, flink("SUSPENDED", "SUSPENDED", "MISSING"), false},
		"flink UPGRADING":                   {flinkKind, flinkSpec, stable, flink("FINISHED", "UPGRADING", "MISSING"), true},
		"flink RESTARTING":                  {flinkKind, flinkSpec, stable, flink("RESTARTING", "STABLE", "READY"), true},
		"flink CANCELLING":                  {flinkKind, flinkSpec, stable, flink("CANCELLING", "STABLE", "READY"), true},
		"flink, a state of another release": {flinkKind, flinkSpec, stable, flink("DISSOLVING", "STABLE", "READY"), true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newOperated(t, test.kind, test.spec, test.begins)
			l.pass(30 * time.Minute)
			l.want("while it makes progress", "a Running, s AwaitingCompletion", l.states("s", "a"))
			l.report(test.stays)
			if !test.keepsPods {
				remove[corev1.Pod](l.lab, "a-r1-exec-1")
			}
			l.pass(8 * time.Minute)
			job := l.job("a")
			running := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobIsRunning)
			if running.Reason != "Stalled" || running.Status != metav1.ConditionFalse || !strings.Contains(running.Message, "stallTimeout 10m0s") || job.Status.Reason != running.Message {
				t.Errorf("before the bound: state %s, reason %q, %+v", job.Status.State, job.Status.Reason, running)
			}
			l.want("before the bound", "a Running, s AwaitingCompletion", l.states("s", "a"))
			l.pass(3 * time.Minute)
			l.want("after the bound", "a Failed, s Completed", l.states("s", "a"))
			job = l.job("a")
			if run := job.Status.Runs[0]; run.Outcome != v1alpha1.Failed || !strings.HasPrefix(run.Reason, "Stalled: the application is ") {
				t.Errorf("the run: %+v", run)
			}
			if claims := l.testbed().Status.Claims; len(claims) > 0 {
				t.Errorf("its slots are kept: %+v", claims)
			}
		})
	}
}

// A run that recovers before its bound continues.
func TestStalledRunGoesOn(t *testing.T) {
	flinkSpec := v1alpha1.BatchJobSpec{FlinkSpec: &runtime.RawExtension{Raw: []byte(`{"job":{"jarURI":"local:///x.jar"}}`)}}
	flinkSpec.StallTimeout = &metav1.Duration{Duration: time.Hour}
	l := newOperated(t, flinkKind, flinkSpec, flink("RUNNING", "STABLE", "READY"))
	for range 3 {
		l.report(flink("RECONCILING", "STABLE", "MISSING"))
		l.pass(55 * time.Minute)
		l.report(flink("RUNNING", "STABLE", "READY"))
		l.pass(10 * time.Minute)
		job := l.job("a")
		if job.Status.State != v1alpha1.BatchJobRunning || job.Status.Reason != "" || job.Status.StalledSince != nil {
			t.Fatalf("%+v", job.Status)
		}
	}
}

// A Job all of whose pods are gone, such as one without a controller, fails after its bound.
func TestJobWithoutPodsFails(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	l.settle()
	l.want("under way", "a Running, s AwaitingCompletion", l.states("s", "a"))
	stay := func() { // the stand-in for the controller of Jobs makes pods for those that have none
		child := get[batchv1.Job](l, "a-r1")
		child.OwnerReferences = slices.Clone(child.OwnerReferences)
		child.Spec.Template.Labels = map[string]string{}
		l.must(l.api.Update(t.Context(), child))
	}
	stay()
	for _, pod := range l.pods("a-r1") {
		l.must(l.api.Delete(t.Context(), &pod))
	}
	l.pass(9 * time.Minute)
	l.want("before the bound", "a Running, s AwaitingCompletion", l.states("s", "a"))
	l.pass(3 * time.Minute)
	l.want("after the bound", "a Failed, s Completed", l.states("s", "a"))
	if claims := l.testbed().Status.Claims; len(claims) > 0 {
		t.Errorf("its slots are kept: %+v", claims)
	}
}

// A pod whose node is off stays Terminating. The condition names the time until which it keeps the
// slots; after that they, and the job, are free.
func TestPodOfADeadNodeKeepsNoSlots(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	l.settle()
	l.want("under way", "a Running, s AwaitingCompletion", l.states("s", "a"))
	for _, pod := range l.pods("a-r1") { // no kubelet confirms its deletion
		pod.Finalizers = []string{"test/kubelet"}
		l.must(l.api.Update(t.Context(), &pod))
		l.must(l.api.Delete(t.Context(), &pod))
	}
	pods := l.pods("a-r1")
	if len(pods) == 0 || pods[0].DeletionTimestamp == nil {
		t.Fatalf("pods %+v", pods)
	}
	// The API server of this lab has a clock of its own.
	l.now = pods[0].DeletionTimestamp.UTC()
	remove[v1alpha1.Scheduling](l, "s")
	l.pass(8 * time.Minute)
	job := l.job("a")
	running := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobIsRunning)
	want := "pods that are being deleted (1) keep the job's slots until " + pods[0].DeletionTimestamp.Add(10*time.Minute).UTC().Format(time.RFC3339) + " at the latest (stallTimeout 10m0s)"
	if job.Status.State != v1alpha1.BatchJobReleasing || running == nil || running.Message != want {
		t.Errorf("before the bound: %s, %+v, want %q", job.Status.State, running, want)
	}
	if len(l.testbed().Status.Claims) != 1 {
		t.Error("freed while the pod may yet go")
	}
	l.pass(4 * time.Minute)
	if job := l.job("a"); job.Status.State != v1alpha1.BatchJobReady || len(l.testbed().Status.Claims) > 0 {
		t.Errorf("after the bound: %s, claims %+v", job.Status.State, l.testbed().Status.Claims)
	}
}

// An operator that is gone leaves its finalizer on the application: its deletion never completes,
// but the slots and the job become free.
func TestStuckApplicationKeepsNothing(t *testing.T) {
	flinkSpec := v1alpha1.BatchJobSpec{FlinkSpec: &runtime.RawExtension{Raw: []byte(`{"job":{"jarURI":"local:///x.jar"}}`)}}
	l := newOperated(t, flinkKind, flinkSpec, flink("RUNNING", "STABLE", "READY"))
	child := l.child()
	child.SetFinalizers([]string{"flinkdeployments.flink.apache.org/finalizer"})
	l.must(l.api.Update(t.Context(), child))
	remove[corev1.Pod](l.lab, "a-r1-exec-1")
	remove[v1alpha1.Scheduling](l.lab, "s")
	l.settle()
	// The API server of this lab has a clock of its own.
	l.now = l.child().GetDeletionTimestamp().UTC()
	l.settle()
	if job := l.job("a"); job.Status.State != v1alpha1.BatchJobReleasing || !strings.Contains(job.Status.Application.Message, "flinkdeployments.flink.apache.org/finalizer") {
		t.Errorf("%s, %+v", job.Status.State, job.Status.Application)
	}
	if len(l.testbed().Status.Claims) != 1 {
		t.Error("freed while the application may yet go")
	}
	l.pass(11 * time.Minute)
	if job := l.job("a"); job.Status.State != v1alpha1.BatchJobReady || len(l.testbed().Status.Claims) > 0 || l.scheduling("s") != nil {
		t.Errorf("%s, claims %+v, scheduling %v", job.Status.State, l.testbed().Status.Claims, l.scheduling("s"))
	}
}

// The cache of a kind whose definition is gone keeps its last objects, which must not keep a job
// from being released.
func TestApplicationOfTheCacheAlone(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	l.settle()
	caches := &behind{l, map[string]client.Client{}}
	caches.catchUp("Job")
	for _, pod := range l.pods("") {
		l.must(l.api.Delete(t.Context(), &pod))
	}
	remove[batchv1.Job](l, "a-r1")
	remove[v1alpha1.Scheduling](l, "s")
	for range 20 {
		caches.catchUp("BatchJob", "Scheduling", "Testbed", "Pod")
		l.jobs.cached = cacheReader{caches}
		l.look()
		l.now = l.now.Add(time.Second)
	}
	if job := l.job("a"); job.Status.State != v1alpha1.BatchJobReady || len(l.testbed().Status.Claims) > 0 {
		t.Errorf("%s, claims %+v", job.Status.State, l.testbed().Status.Claims)
	}
}
