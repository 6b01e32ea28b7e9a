package controller

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

var update = flag.Bool("update", false, "write what is found to testdata")

// golden compares the result with a file.
func golden(t *testing.T, file string, got any) {
	t.Helper()
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s: %s", file, diff)
	}
}

// child returns a Job of a run with these conditions.
func child(job string, attempt string, conditions ...any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{
			"namespace": "lab", "name": job + "-r" + attempt, "uid": "uid-" + job + "-r" + attempt, "creationTimestamp": "2026-11-22T09:00:10Z",
		},
		"spec": map[string]any{"parallelism": int64(2), "completions": int64(2)},
	}}
	if len(conditions) > 0 {
		u.Object["status"] = map[string]any{"conditions": conditions}
	}
	return u
}

func submitted(job *v1alpha1.BatchJob) *v1alpha1.BatchJob {
	acquired(job, v1alpha1.BatchJobSubmitted)
	job.Status.CreationRequest = &v1alpha1.CreationRequest{
		Testbed: v1alpha1.ObjectReference{Namespace: "lab", Name: "small", UID: "uid-small"},
		Slots:   []string{"node-a/0", "node-b/0"}, Replication: 2, Attempt: 2,
	}
	job.Status.Runs = []v1alpha1.Run{
		{Scheduling: "lab/before", Testbed: "lab/small", Slots: []string{"node-a/0"}, Attempt: 1, Outcome: v1alpha1.Succeeded},
		{Scheduling: "lab/first", Testbed: "lab/small", Slots: []string{"node-a/0", "node-b/0"}, Attempt: 2, Submitted: &metav1.Time{Time: epoch}},
	}
	return job
}

func TestJobObserved(t *testing.T) {
	job := submitted(newJob("a"))
	job.Spec.Retry = v1alpha1.Retry{Limit: 3, Delay: &metav1.Duration{Duration: time.Minute}}
	job.Spec.SubmitTimeout = &metav1.Duration{Duration: time.Hour}
	job.Finalizers = []string{v1alpha1.FinalizerApplication}
	v := jobFacts{
		Job: job, Scheduling: newQueue("a"), Claim: &v1alpha1.Claim{}, Child: child("a", "2"),
		Pods: []corev1.Pod{start(bind(slotPod("a", 2, 0), "node-a", 12), 13), bind(slotPod("a", 2, 1), "node-b", 14)},
	}
	got, _, err := v.observe()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := storedJob(&job.Status)
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.JobObserved{
		Stored: stored, Wanted: true, Claimed: true, Finalizer: true, RetryLimit: 3, RetryDelay: time.Minute, SubmitTimeout: time.Hour,
		Application: lifecycle.Application{UID: "uid-a-r2", Attempt: 2, Phase: lifecycle.Pending, Created: at(10).Time},
		Pods:        lifecycle.Pods{Expected: 2, Bound: 2, BoundAt: at(14).Time, Running: 1, StartedAt: at(13).Time, Alive: 1, Live: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	for _, test := range []struct {
		what  string
		child *unstructured.Unstructured
		want  lifecycle.Application
	}{
		{"none", nil, lifecycle.Application{}},
		{"complete", child("a", "2", map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-22T09:01:00Z"}),
			lifecycle.Application{UID: "uid-a-r2", Attempt: 2, Phase: lifecycle.Succeeded, State: "Complete", Created: at(10).Time, Finished: at(60).Time}},
		{"failed", child("a", "2", map[string]any{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": "2026-11-22T09:01:00Z"}),
			lifecycle.Application{UID: "uid-a-r2", Attempt: 2, Phase: lifecycle.Ended, State: "Failed: BackoffLimitExceeded", Reason: "BackoffLimitExceeded", Created: at(10).Time, Finished: at(60).Time}},
	} {
		v.Child = test.child
		got, _, err := v.observe()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.Application); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
	}
	job.Status.State = "Sleeping"
	if _, _, err := v.observe(); err == nil {
		t.Error("a state that there is not is taken")
	}
}

// A delay of zero is no delay; without one, the default applies.
func TestDelays(t *testing.T) {
	job := newJob("a")
	v := jobFacts{Job: job}
	for _, test := range []struct {
		given *metav1.Duration
		want  time.Duration
	}{{nil, 0}, {&metav1.Duration{}, 1}, {&metav1.Duration{Duration: time.Minute}, time.Minute}} {
		job.Spec.Retry.Delay = test.given
		got, _, err := v.observe()
		if err != nil || got.RetryDelay != test.want {
			t.Errorf("%v is %v, %v", test.given, got.RetryDelay, err)
		}
	}
}

func TestWanted(t *testing.T) {
	job := acquired(newJob("a"), v1alpha1.BatchJobInQueue)
	gone, other := newQueue("a"), newQueue("a")
	gone.DeletionTimestamp = &metav1.Time{Time: epoch}
	other.UID = "another"
	for _, test := range []struct {
		what string
		job  *v1alpha1.BatchJob
		s    *v1alpha1.Scheduling
		want bool
	}{
		{"listed", job, newQueue("b", "a"), true},
		{"placed", job, newPlaced(slotJob("a", 0)), true},
		{"no scheduling", job, nil, false},
		{"not listed", job, newQueue("b"), false},
		{"another of the name", job, other, false},
		{"going", job, gone, false},
		{"not acquired", newJob("a"), newQueue("a"), false},
	} {
		if got := isWanted(test.job, test.s); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		what       string
		status     metav1.ConditionStatus
		reason     string
		generation int64
		want       lifecycle.Check
		problem    string
	}{
		{"never", "", "", 1, lifecycle.Unchecked, ""},
		{"good", metav1.ConditionTrue, "Accepted", 1, lifecycle.Valid, ""},
		{"good before an edit", metav1.ConditionTrue, "Accepted", 0, lifecycle.Unchecked, ""},
		{"bad", metav1.ConditionFalse, v1alpha1.ReasonSlotTooSmall, 1, lifecycle.Invalid, "SlotTooSmall: too small"},
		{"bad before an edit", metav1.ConditionFalse, v1alpha1.ReasonInvalidApplication, 0, lifecycle.Unchecked, ""},
		{"nobody is there", metav1.ConditionFalse, v1alpha1.ReasonOperatorMissing, 1, lifecycle.Unavailable, ""},
		{"webhook", metav1.ConditionFalse, v1alpha1.ReasonWebhookMissing, 1, lifecycle.Valid, ""},
		{"to be tried", metav1.ConditionUnknown, "Unchecked", 1, lifecycle.Unchecked, ""},
	} {
		job := newJob("a")
		if test.status != "" {
			job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BatchJobValid, Status: test.status, Reason: test.reason, Message: "too small", ObservedGeneration: test.generation}}
		}
		v := jobFacts{Job: job}
		got, _, err := v.observe()
		if err != nil || got.Check != test.want || got.Problem != test.problem {
			t.Errorf("%s: %v %q, %v", test.what, got.Check, got.Problem, err)
		}
	}
}

// An executor that the operator's webhook has not changed will never be placed: the run's condition
// blames the operator. An executor that has ended does no harm.
func TestWebhookMissing(t *testing.T) {
	job := submitted(newJob("a"))
	job.Spec = v1alpha1.BatchJobSpec{SparkSpec: &runtime.RawExtension{Raw: []byte(`{}`)}}
	strange, ended, before := slotPod("a", 2, 0), slotPod("a", 2, 1), slotPod("a", 1, 0)
	for _, p := range []*corev1.Pod{&strange, &ended, &before} {
		p.Spec.SchedulerName = "default-scheduler"
	}
	ended.Status.Phase = corev1.PodFailed
	for _, test := range []struct {
		what string
		pods []corev1.Pod
		want string
	}{
		{"as asked", []corev1.Pod{slotPod("a", 2, 0)}, ""},
		{"strange", []corev1.Pod{slotPod("a", 2, 1), strange}, v1alpha1.ReasonWebhookMissing},
		{"ended", []corev1.Pod{ended}, ""},
		{"of another run", []corev1.Pod{before}, ""},
	} {
		v := jobFacts{Job: job, Pods: test.pods}
		o, counts, err := v.observe()
		if err != nil || o.Fault != test.want {
			t.Errorf("%s: %q, %v", test.what, o.Fault, err)
		}
		got := condition(v.nextStatus(&o.Stored, &o, counts, epoch).Conditions, v1alpha1.BatchJobValid)
		if (got == "False "+v1alpha1.ReasonWebhookMissing) != (test.want != "") {
			t.Errorf("%s: %s", test.what, got)
		}
	}
}

func TestRequests(t *testing.T) {
	job, tb := acquired(newJob("a"), v1alpha1.BatchJobInQueue), newTestbed(2)
	tb.Spec.ResourcesPerSlot = corev1.ResourceList{}
	if _, err := trialRequest(job, nil, tb); err == nil {
		t.Error("no scheduling, and yet a request")
	}
	if _, err := trialRequest(job, newQueue("a"), nil); err == nil {
		t.Error("no testbed, and yet a request")
	}
	job.Status.Runs = []v1alpha1.Run{{Attempt: 6}}
	for _, s := range []*v1alpha1.Scheduling{newQueue("a", "b", "a", "a"), newPlaced(slotJob("b", 1), slotJob("a", 0, 2, 3))} {
		trial, err := trialRequest(job, s, tb)
		if err != nil || trial.Replication != 3 || trial.Attempt != 7 || trial.Testbed.UID != "uid-small" {
			t.Errorf("%+v, %v", trial, err)
		}
	}
	c := &v1alpha1.Claim{Slots: []string{"node-a/0", "node-b/1"}}
	request := requestOf(job, tb, c)
	want := &v1alpha1.CreationRequest{
		Testbed: v1alpha1.ObjectReference{Namespace: "lab", Name: "small", UID: "uid-small"},
		Slots:   []string{"node-a/0", "node-b/1"}, Resources: corev1.ResourceList{}, Replication: 2, Attempt: 7,
	}
	if diff := cmp.Diff(want, request); diff != "" {
		t.Error(diff)
	}
	job.Status.CreationRequest = request
	if again, err := trialRequest(job, nil, nil); err != nil || again != request {
		t.Errorf("what is requested already is tried as %+v, %v", again, err)
	}
	if got := lastAttempt(&job.Status); got != 7 {
		t.Errorf("the last attempt is %d", got)
	}
}

// These are the statuses of a job from being acquired to having failed.
func TestJobStatusGolden(t *testing.T) {
	ready := newJob("a")
	queued := acquired(newJob("a"), v1alpha1.BatchJobReady)
	acquireJob(queued, newQueue("a"), epoch)
	running := submitted(newJob("a"))
	running.Status.State = v1alpha1.BatchJobScheduled
	failed := submitted(newJob("a"))
	for file, v := range map[string]*jobFacts{
		"job-ready.yaml":  {Job: ready},
		"job-queued.yaml": {Job: queued, Scheduling: newQueue("a")},
		"job-running.yaml": {Job: running, Scheduling: newQueue("a"), Claim: &v1alpha1.Claim{},
			Child: child("a", "2", map[string]any{"type": "Ready", "status": "True"}),
			Pods:  []corev1.Pod{start(bind(slotPod("a", 2, 0), "node-a", 12), 13), start(bind(slotPod("a", 2, 1), "node-b", 14), 16)}},
		"job-failed.yaml": {Job: failed, Scheduling: newQueue("a"), Claim: &v1alpha1.Claim{},
			Child: child("a", "2", map[string]any{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": "2026-11-22T09:01:00Z"}),
			Pods:  []corev1.Pod{end(start(bind(slotPod("a", 2, 0), "node-a", 12), 13), corev1.PodFailed)}},
	} {
		if strings.HasPrefix(file, "job-running") {
			v.Child.Object["status"].(map[string]any)["active"] = int64(2)
		}
		o, counts, err := v.observe()
		if err != nil {
			t.Fatal(err)
		}
		next, _ := lifecycle.StepJob(o, epoch.Add(2*time.Minute))
		golden(t, file, v.nextStatus(&next, &o, counts, epoch.Add(2*time.Minute)))
	}
}

// These are the statuses of a Scheduling from finding no job to its end.
func TestSchedulingStatusGolden(t *testing.T) {
	waiting := newQueue("a", "b", "a")
	begun := newQueue("a", "b", "a")
	begun.Status = v1alpha1.SchedulingStatus{State: v1alpha1.SchedulingSubmitting, Started: &metav1.Time{Time: epoch}}
	tb := newTestbed(2)
	tb.Status.Claims = []v1alpha1.Claim{{BatchJobUID: "uid-b", BatchJob: "lab/b", Scheduling: "lab/first", SchedulingUID: "uid-first", Slots: []string{"node-a/1"}}}
	done := submitted(newJob("a"))
	done.Status.State = v1alpha1.BatchJobCompleted
	failed := newQueue("a", "a")
	failed.Spec.OnFailure = v1alpha1.OnFailureStop
	failed.Status = begun.Status
	lost := submitted(newJob("a"))
	lost.Status.State = v1alpha1.BatchJobFailed
	for file, v := range map[string]*schedulingView{
		"scheduling-waiting.yaml":    {Scheduling: waiting, Testbed: tb, Job: lookup(newJob("a"))},
		"scheduling-submitting.yaml": {Scheduling: begun, Testbed: tb, Job: lookup(done, acquired(newJob("b"), v1alpha1.BatchJobInQueue))},
		"scheduling-failed.yaml":     {Scheduling: failed, Testbed: tb, Job: lookup(lost)},
	} {
		now := epoch.Add(2 * time.Minute)
		o, err := v.observe(now)
		if err != nil {
			t.Fatal(err)
		}
		next, _ := lifecycle.StepScheduling(o, now)
		golden(t, file, v.nextStatus(&next, &o, v.feasibility(&o, everybody), now))
	}
}
