package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// states returns those of jobs and a Scheduling, in brief.
func (l *lab) states(scheduling string, jobs ...string) string {
	l.t.Helper()
	var parts []string
	for _, name := range jobs {
		parts = append(parts, name+" "+string(l.job(name).Status.State))
	}
	if s := l.scheduling(scheduling); s != nil {
		parts = append(parts, scheduling+" "+string(s.Status.State))
	}
	return strings.Join(parts, ", ")
}

func (l *lab) want(what, want, got string) {
	l.t.Helper()
	if got != want {
		l.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// A Scheduling runs its jobs, one after the other if there is no room for both; when it is deleted,
// all is as before, except for the record of the runs.
func TestJobsRun(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b").withQueue("s", "a", "a", "b")
	started := l.now
	l.settle()
	l.want("begun", "a Running, b InQueue, s Submitting", l.states("s", "a", "b"))
	job := l.job("a")
	if !slices.Contains(job.Finalizers, v1alpha1.FinalizerApplication) || !slices.Contains(l.scheduling("s").Finalizers, v1alpha1.FinalizerJobs) {
		t.Error("there are no finalizers")
	}
	request := job.Status.CreationRequest
	if diff := cmp.Diff([]string{"n0/0", "n0/1"}, request.Slots); diff != "" || request.Replication != 2 || request.Attempt != 1 || request.Testbed.UID != l.testbed().UID {
		t.Errorf("%+v", request)
	}
	l.now = started.Add(time.Minute)
	l.finish("a-r1", batchv1.JobComplete)
	l.settle()
	l.want("one has ended", "a Completed, b Running, s AwaitingCompletion", l.states("s", "a", "b"))
	run := l.job("a").Status.Runs[0]
	if run.Outcome != v1alpha1.Succeeded || !run.Started.Time.Equal(started) || !run.Finished.Time.Equal(started.Add(time.Minute)) || run.Application == "" {
		t.Errorf("%+v", run)
	}
	l.finish("b-r1", batchv1.JobComplete)
	l.settle()
	l.want("both have ended", "a Completed, b Completed, s Completed", l.states("s", "a", "b"))
	if claims := l.testbed().Status.Claims; len(claims) > 0 {
		t.Errorf("left are claims %+v", claims)
	}
	remove[v1alpha1.Scheduling](l, "s")
	l.settle()
	l.want("released", "a Ready, b Ready", l.states("s", "a", "b"))
	if children := l.children(); len(children) > 0 || l.scheduling("s") != nil {
		t.Errorf("left are %+v", children)
	}
	remove[v1alpha1.BatchJob](l, "a")
	l.settle()
	if l.job("a") != nil {
		t.Error("a job that nobody has can't be deleted")
	}
	if got := testutil.ToFloat64(l.metrics.runs.WithLabelValues("Job", "Succeeded")); got != 2 {
		t.Errorf("%v runs are counted", got)
	}
	if n := testutil.CollectAndCount(l.metrics.schedulingSeconds); n == 0 {
		t.Error("no time in a state is measured")
	}
}

// Without events nothing is written.
func TestJobsQuiet(t *testing.T) {
	for _, children := range []batchv1.JobConditionType{"", batchv1.JobComplete, batchv1.JobFailed} {
		l := newLab(t).withTestbed(1).withJobs("a", "b").withQueue("s", "a", "a", "b").withQueue("z", "b")
		l.settle()
		if children != "" {
			l.finish("a-r1", children)
			l.settle()
		}
		l.writes = nil
		for range 3 {
			l.now = l.now.Add(time.Second)
			l.look()
		}
		l.restart()
		l.look()
		if len(l.writes) > 0 {
			t.Errorf("%q: %v", children, l.writes)
		}
	}
}

// course runs a Scheduling of two jobs to its end, and deletes it. Jobs that were tried before may
// be reserved.
func (l *lab) course(tried bool) {
	l.t.Helper()
	l.withTestbed(1).withJobs("a", "b")
	if tried {
		l.settle()
	}
	l.withQueue("s", "a", "a", "b")
	l.settle()
	l.finish("a-r1", batchv1.JobFailed)
	l.settle()
	l.finish("b-r1", batchv1.JobComplete)
	l.settle()
	l.want("at the end", "a Failed, b Completed, s Completed", l.states("s", "a", "b"))
	for name, outcome := range map[string]v1alpha1.Outcome{"a": v1alpha1.Failed, "b": v1alpha1.Succeeded} {
		if runs := l.job(name).Status.Runs; len(runs) != 1 || runs[0].Outcome != outcome {
			l.t.Errorf("the runs of %s are %+v", name, runs)
		}
	}
	remove[v1alpha1.Scheduling](l, "s")
	remove[v1alpha1.BatchJob](l, "b")
	l.settle()
	l.want("after it", "a Ready", l.states("s", "a"))
	if l.scheduling("s") != nil || l.job("b") != nil || len(l.children()) > 0 || len(l.testbed().Status.Claims) > 0 {
		l.t.Errorf("left are %v, %v, %v, %v", l.scheduling("s"), l.job("b"), l.children(), l.testbed().Status.Claims)
	}
	for name, n := range l.created {
		if n != 1 {
			l.t.Errorf("%s was created %d times", name, n)
		}
	}
}

// A controller that restarts after a crash between any two writes, or during one, finishes the work
// and does nothing twice.
func TestCrashAnywhere(t *testing.T) {
	for _, tried := range []bool{false, true} {
		t.Run(fmt.Sprintf("tried %t", tried), func(t *testing.T) { crashAnywhere(t, tried) })
	}
}

func crashAnywhere(t *testing.T, tried bool) {
	var plain []string
	t.Run("never", func(t *testing.T) {
		l := newLab(t)
		l.course(tried)
		plain = l.writes
	})
	for at := range plain {
		if testing.Short() && at%8 != 0 {
			continue
		}
		for _, fate := range []error{errBefore, errAfter} {
			t.Run(fmt.Sprintf("%d %s %v", at, plain[at], fate), func(t *testing.T) {
				l := newLab(t)
				n := 0
				l.fail = func(string) error {
					if n++; n == at+1 {
						return fate
					}
					return nil
				}
				l.course(tried)
				if n <= at {
					t.Errorf("of %d writes none was cut off", n)
				}
			})
		}
	}
}

// The same holds if each write fails for some time because another has written first, and if all
// that can fail do so twice.
func TestConflictsEverywhere(t *testing.T) {
	for _, tried := range []bool{false, true} {
		conflictsEverywhere(t, tried)
	}
}

func conflictsEverywhere(t *testing.T, tried bool) {
	t.Helper()
	l := newLab(t)
	seen := map[string]int{}
	l.fail = func(write string) error {
		if seen[write]++; seen[write] <= 2 && !strings.HasPrefix(write, "create") {
			return apierrors.NewConflict(schema.GroupResource{Resource: "any"}, write, errors.New("another was first"))
		}
		return nil
	}
	l.course(tried)
}

// Two concurrent controllers do no harm.
func TestTwoLeaders(t *testing.T) {
	for _, tried := range []bool{false, true} {
		t.Run(fmt.Sprintf("tried %t", tried), func(t *testing.T) { twoLeaders(t, tried) })
	}
}

func twoLeaders(t *testing.T, tried bool) {
	l := newLab(t).withTestbed(1).withJobs("a", "b")
	if tried {
		l.settle()
	}
	l.withQueue("s", "a", "b").withQueue("t", "b", "a")
	other := newLab(t)
	other.api = l.api
	other.restart()
	// The other controller decides while this one is about to write.
	var busy atomic.Bool
	l.between = func(write string) {
		if write != "status BatchJob a" && write != "status BatchJob b" && write != "status Scheduling s" && write != "status Scheduling t" || !busy.CompareAndSwap(false, true) {
			return
		}
		for _, name := range []string{"t", "s"} {
			_, _ = other.act(other.schedulings, name)
		}
		for _, name := range []string{"a", "b"} {
			_, _ = other.act(other.jobs, name)
		}
		busy.Store(false)
	}
	for range 5 {
		l.look()
		if tried {
			l.grant()
			l.unreserved()
		}
	}
	l.between = nil
	l.settle()
	s, u := l.scheduling("s"), l.scheduling("t")
	if (s.Status.State == v1alpha1.SchedulingAcquiring) == (u.Status.State == v1alpha1.SchedulingAcquiring) {
		t.Fatalf("%s, %s", l.states("s", "a", "b"), u.Status.State)
	}
	for _, name := range []string{"a", "b"} {
		if n := l.created[name+"-r1"]; n != 1 {
			t.Errorf("%s was created %d times", name, n)
		}
	}
}

// A failed job is retried after its delay, in newly granted slots and with its present spec, at
// most as often as its limit.
func TestRetry(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	amend(l, "a", func(j *v1alpha1.BatchJob) {
		j.Spec.Retry = v1alpha1.Retry{Limit: 1, Delay: &metav1.Duration{Duration: time.Minute}}
	})
	l.settle()
	amend(l, "a", func(j *v1alpha1.BatchJob) {
		j.Spec.JobSpec.Raw = []byte(`{"template":{"spec":{"containers":[{"name":"main","image":"better"}]}}}`)
	})
	l.settle()
	if image := l.children()[0].Spec.Template.Spec.Containers[0].Image; image != "x" || len(l.children()) != 1 {
		t.Errorf("a run under way has been edited: %s", image)
	}
	l.finish("a-r1", batchv1.JobFailed)
	l.settle()
	job := l.job("a")
	l.want("failed once", "a InQueue, s AwaitingCompletion", strings.Replace(l.states("s", "a"), "Submitting", "AwaitingCompletion", 1))
	if job.Status.Retries != 1 || job.Status.NotBefore == nil || job.Status.CreationRequest != nil || len(l.testbed().Status.Claims) > 0 || len(l.children()) > 0 {
		t.Errorf("%+v, claims %+v", job.Status, l.testbed().Status.Claims)
	}
	l.now = l.now.Add(time.Minute)
	l.settle()
	l.want("tried again", "a Running, s AwaitingCompletion", l.states("s", "a"))
	if image := l.children()[0].Spec.Template.Spec.Containers[0].Image; image != "better" || l.children()[0].Name != "a-r2" {
		t.Errorf("the next run is %s of %s", l.children()[0].Name, image)
	}
	l.finish("a-r2", batchv1.JobFailed)
	l.settle()
	l.want("failed twice", "a Failed, s Completed", l.states("s", "a"))
	if runs := l.job("a").Status.Runs; len(runs) != 2 || runs[0].Attempt != 1 || runs[1].Attempt != 2 || runs[1].Outcome != v1alpha1.Failed {
		t.Errorf("%+v", runs)
	}
	if told := l.events(); !slices.ContainsFunc(told, func(e string) bool { return strings.HasPrefix(e, "Warning RunFailed run 2: Because") }) {
		t.Errorf("told is %q", told)
	}
}

// The API server's refusal of an application becomes the reason that users read, and the job fails
// before it takes slots.
func TestInvalidApplication(t *testing.T) {
	for _, test := range []struct {
		what    string
		spec    string
		err     error
		reason  string
		message string
	}{
		{"refused", "", apierrors.NewBadRequest(`strict decoding error: unknown field "spec.tmplate"`), v1alpha1.ReasonInvalidApplication, `strict decoding error: unknown field "spec.tmplate"`},
		{"forbidden", "", apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a-r1", errors.New("no")), v1alpha1.ReasonInvalidApplication, `jobs "a-r1" is forbidden: no`},
		{"not to be made", `{"template":[]}`, nil, v1alpha1.ReasonInvalidApplication, "spec.jobSpec.template = []: must be an object"},
		{"too large", `{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"3"}}}]}}}`, nil, v1alpha1.ReasonSlotTooSmall, ""},
	} {
		l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
		amend(l, "small", func(tb *v1alpha1.Testbed) {
			tb.Spec.ResourcesPerSlot = corev1.ResourceList{"cpu": resource.MustParse("2")}
		})
		if test.spec != "" {
			amend(l, "a", func(j *v1alpha1.BatchJob) { j.Spec.JobSpec.Raw = []byte(test.spec) })
		}
		l.trial = func(*unstructured.Unstructured) error { return test.err }
		l.settle()
		l.want(test.what, "a Failed, s Completed", l.states("s", "a"))
		valid := meta.FindStatusCondition(l.job("a").Status.Conditions, v1alpha1.BatchJobValid)
		if valid == nil || valid.Status != metav1.ConditionFalse || valid.Reason != test.reason || test.message != "" && valid.Message != test.message {
			t.Errorf("%s: %+v", test.what, valid)
		}
		if len(l.children()) > 0 || len(l.testbed().Status.Claims) > 0 || len(l.job("a").Status.Runs) > 0 {
			t.Errorf("%s: it was created all the same", test.what)
		}
		if told := l.events(); !slices.ContainsFunc(told, func(e string) bool { return strings.HasPrefix(e, "Warning "+test.reason) }) {
			t.Errorf("%s: told is %q", test.what, told)
		}
		// After it is mended and released, it runs the next time.
		l.trial = nil
		amend(l, "a", func(j *v1alpha1.BatchJob) {
			j.Spec.JobSpec.Raw = []byte(`{"template":{"spec":{"containers":[{"name":"main","image":"x"}]}}}`)
		})
		remove[v1alpha1.Scheduling](l, "s")
		l.settle()
		l.withQueue("next", "a").settle()
		l.want(test.what+", mended", "a Running, next AwaitingCompletion", l.states("next", "a"))
	}
}

// A refusal that may be temporary is retried, and the job waits without slots.
func TestTrialFails(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	for _, err := range []error{
		apierrors.NewInternalError(errors.New("the webhook is away")),
		apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a-r1", errors.New("exceeded quota: few")),
	} {
		l.trial = func(*unstructured.Unstructured) error { return err }
		l.settle()
		l.want(err.Error(), "a InQueue, s Submitting", l.states("s", "a"))
		valid := meta.FindStatusCondition(l.job("a").Status.Conditions, v1alpha1.BatchJobValid)
		if valid == nil || valid.Status != metav1.ConditionUnknown || valid.Message != err.Error() || len(l.testbed().Status.Claims) > 0 {
			t.Errorf("%+v", valid)
		}
	}
	l.trial = nil
	l.settle()
	l.want("at last", "a Running, s AwaitingCompletion", l.states("s", "a"))
}

// A job whose operator is missing waits without slots, and runs once the operator is installed.
func TestOperatorMissing(t *testing.T) {
	l := newLab(t).withTestbed(1)
	put(l, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.BatchJobSpec{SparkSpec: &runtime.RawExtension{Raw: []byte(`{"type":"Scala"}`)}}})
	l.withQueue("s", "a").settle()
	l.want("missing", "a InQueue, s Submitting", l.states("s", "a"))
	valid := meta.FindStatusCondition(l.job("a").Status.Conditions, v1alpha1.BatchJobValid)
	if valid == nil || valid.Reason != v1alpha1.ReasonOperatorMissing || !strings.Contains(valid.Message, "SparkApplication") || len(l.testbed().Status.Claims) > 0 {
		t.Errorf("%+v", valid)
	}
	after, err := l.act(l.jobs, "a")
	if err != nil || after <= 0 {
		t.Errorf("nobody looks again: %v, %v", after, err)
	}
	l.kinds.Add(sparkKind, meta.RESTScopeNamespace)
	l.settle()
	l.want("there", "a Submitted, s AwaitingCompletion", l.states("s", "a"))
	child := &unstructured.Unstructured{}
	child.SetGroupVersionKind(sparkKind)
	l.must(l.api.Get(t.Context(), types.NamespacedName{Namespace: "lab", Name: "a-r1"}, child))
	// When its operator's kinds are removed, the run is lost and fails.
	l.must(l.api.Delete(t.Context(), child))
	l.settle()
	l.want("lost", "a Failed, s Completed", l.states("s", "a"))
	if runs := l.job("a").Status.Runs; len(runs) != 1 || runs[0].Reason != "ApplicationLost" {
		t.Errorf("%+v", runs)
	}
}

// In a strict Scheduling whose first job cannot run, no later one starts; once the operator is
// installed, all do.
func TestStrictWaitsForItsFirst(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("job-a")
	put(l, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "spark-pi"}, Spec: v1alpha1.BatchJobSpec{SparkSpec: &runtime.RawExtension{Raw: []byte(`{"type":"Scala"}`)}}})
	put(l, &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: v1alpha1.SchedulingSpec{
		Testbed: v1alpha1.TestbedReference{Name: "small"},
		SlotBased: &v1alpha1.SlotBased{Mode: v1alpha1.Strict, Jobs: []v1alpha1.SlotJob{
			{Name: "spark-pi", Slots: []v1alpha1.SlotReference{{Text: "n0/0"}}}, {Name: "job-a", Slots: []v1alpha1.SlotReference{{Text: "n0/1"}}},
		}},
	}})
	l.settle()
	l.want("no operator", "spark-pi InQueue, job-a InQueue, s Submitting", l.states("s", "spark-pi", "job-a"))
	l.kinds.Add(sparkKind, meta.RESTScopeNamespace)
	l.settle()
	l.want("it came", "spark-pi Submitted, job-a Running, s AwaitingCompletion", l.states("s", "spark-pi", "job-a"))
}

// An object that has the application's name but another owner is left alone: the run fails, and the
// next one has another name.
func TestNameTaken(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a")
	put(l, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a-r1"}})
	amend(l, "a", func(j *v1alpha1.BatchJob) { j.Spec.Retry = v1alpha1.Retry{Limit: 1, Delay: &metav1.Duration{}} })
	l.withQueue("s", "a").settle()
	l.now = l.now.Add(time.Minute)
	l.settle()
	l.want("the next", "a Running, s AwaitingCompletion", l.states("s", "a"))
	if runs := l.job("a").Status.Runs; len(runs) != 2 || runs[0].Reason != reasonTaken || runs[1].Outcome != "" {
		t.Errorf("%+v", runs)
	}
	remove[v1alpha1.Scheduling](l, "s")
	l.settle()
	if children := l.children(); len(children) != 1 || children[0].Name != "a-r1" {
		t.Errorf("left are %+v", children)
	}
}

// An application that was created without an answer, and that the cache does not show yet, is the
// job's: finding it is no conflict.
func TestOwnApplicationIsThere(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	cut := 0
	l.fail = func(write string) error {
		if write == "create Job a-r1" {
			if cut++; cut == 1 {
				return errAfter
			}
		}
		return nil
	}
	caches := &behind{l, map[string]client.Client{}}
	caches.catchUp("Job") // as it is now: there is none
	l.jobs.cached, l.schedulings.cached = cacheReader{caches}, caches
	for range 20 {
		caches.catchUp("Testbed", "BatchJob", "Scheduling", "Pod")
		_, _ = l.act(l.schedulings, "s")
		_, _ = l.act(l.jobs, "a")
		l.grant()
		l.now = l.now.Add(creationQuiet)
	}
	job := l.job("a")
	children := l.children()
	if cut < 2 || l.created["a-r1"] != 1 || len(children) != 1 {
		t.Fatalf("created by %d requests, of which %d did, and there are %d", cut, l.created["a-r1"], len(children))
	}
	if job.Status.State != v1alpha1.BatchJobSubmitted || len(job.Status.Runs) != 1 || job.Status.Runs[0].Outcome != "" {
		t.Errorf("%s: %+v", job.Status.State, job.Status.Runs)
	}
	if app := job.Status.Application; app == nil || app.UID != children[0].UID {
		t.Errorf("the application is %+v, want that of UID %s", app, children[0].UID)
	}
}

// The same holds for one that another controller created after the last read.
func TestOwnApplicationCame(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	l.settle()
	child := l.children()[0]
	view, err := l.jobs.look(t.Context(), types.NamespacedName{Namespace: "lab", Name: "a"}, l.jobs.live)
	if err != nil {
		t.Fatal(err)
	}
	view.Child = nil // it came after the look
	fault, err := (&jobPass{batchJobs: l.jobs, view: view, now: l.now}).create(t.Context())
	if err != nil || fault != "" || view.Child == nil || view.Child.GetUID() != child.UID {
		t.Errorf("%q, %v: %+v", fault, err, view.Child)
	}
}

// A run is not lost because a cache does not show its application, pods and claim yet.
func TestNotLostFromBehind(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a")
	amend(l, "a", func(j *v1alpha1.BatchJob) { j.Spec.Retry = v1alpha1.Retry{Limit: 1} })
	l.withQueue("s", "a")
	caches := &behind{l, map[string]client.Client{}}
	caches.catchUp("Job", "Pod", "Testbed")
	l.settle()
	caches.catchUp("BatchJob", "Scheduling")
	l.jobs.cached = cacheReader{caches}
	if _, err := l.act(l.jobs, "a"); err != nil {
		t.Fatal(err)
	}
	l.want("the run", "a Running, s AwaitingCompletion", l.states("s", "a"))
	if runs := l.job("a").Status.Runs; len(runs) != 1 || runs[0].Outcome != "" {
		t.Errorf("%+v", runs)
	}
}

// A refused creation fails the run with the API server's reason; one that may succeed later is
// retried until the run is late.
func TestCreationFails(t *testing.T) {
	for _, test := range []struct {
		what string
		err  error
		want string
	}{
		{"refused", apierrors.NewBadRequest("no such field"), "InvalidApplication: no such field"},
		{"late", apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "a-r1", errors.New("exceeded quota: few")), "SubmitTimeout"},
	} {
		l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
		l.fail = func(write string) error {
			if write == "create Job a-r1" {
				return test.err
			}
			return nil
		}
		for range 20 {
			l.look()
			l.grant()
		}
		l.now = l.now.Add(11 * time.Minute)
		l.settle()
		l.want(test.what, "a Failed, s Completed", l.states("s", "a"))
		if runs := l.job("a").Status.Runs; len(runs) != 1 || runs[0].Reason != test.want {
			t.Errorf("%s: %+v", test.what, runs)
		}
		if len(l.testbed().Status.Claims) > 0 {
			t.Errorf("%s: its slots are not free", test.what)
		}
	}
}

// A run that takes too long to begin fails.
func TestSubmitTimeout(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	amend(l, "a", func(j *v1alpha1.BatchJob) { j.Spec.SubmitTimeout = &metav1.Duration{Duration: time.Minute} })
	for range 20 {
		l.look()
		l.grant()
	}
	l.now = l.now.Add(creationQuiet)
	l.look()
	after, err := l.act(l.jobs, "a")
	if err != nil || after <= creationQuiet || after > time.Minute {
		t.Errorf("it is looked at again after %v, %v", after, err)
	}
	l.now = l.now.Add(after)
	l.settle()
	l.want("late", "a Failed, s Completed", l.states("s", "a"))
	if len(l.children()) > 0 || len(l.testbed().Status.Claims) > 0 {
		t.Errorf("left are %v, %v", l.children(), l.testbed().Status.Claims)
	}
}

// A child that is deleted by hand has lost its run; its pods, which nothing else deletes here, are
// deleted before its slots become free.
func TestChildDeletedByHand(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	l.settle()
	pod := l.pods("a-r1")[0]
	pod.Finalizers = []string{"somebody/else"}
	l.must(l.api.Update(t.Context(), &pod))
	remove[batchv1.Job](l, "a-r1")
	l.settle()
	l.want("lost", "a Failed, s Completed", l.states("s", "a"))
	if claims := l.testbed().Status.Claims; len(claims) != 1 {
		t.Errorf("while a pod is in it, its slot is claimed by %+v", claims)
	}
	if pods := l.pods("a-r1"); len(pods) != 1 || pods[0].DeletionTimestamp == nil {
		t.Errorf("its pods are %+v", pods)
	}
	pod = l.pods("a-r1")[0]
	pod.Finalizers = nil
	l.must(l.api.Update(t.Context(), &pod))
	l.settle()
	if claims := l.testbed().Status.Claims; len(claims) > 0 {
		t.Errorf("its slot is not free: %+v", claims)
	}
}

// Deleting a job or a Scheduling in any state removes all that belongs to it, and a remaining job
// is ready.
func TestDeleteAnywhere(t *testing.T) {
	for looks := range 12 {
		if testing.Short() && looks%3 != 1 {
			continue
		}
		for _, what := range []string{"job", "scheduling", "both"} {
			l := newLab(t).withTestbed(1).withJobs("a", "b").withQueue("s", "a", "b")
			for i := range looks {
				l.look()
				if i%2 == 1 {
					l.grant()
				}
				if i%3 == 2 {
					l.runPods()
				}
			}
			if what != "scheduling" {
				remove[v1alpha1.BatchJob](l, "a")
			}
			if what != "job" {
				remove[v1alpha1.Scheduling](l, "s")
			}
			l.settle()
			claims := l.testbed().Status.Claims
			switch what {
			case "job":
				if l.job("a") != nil || slices.ContainsFunc(claims, func(c v1alpha1.Claim) bool { return c.BatchJob == "lab/a" }) || get[batchv1.Job](l, "a-r1") != nil {
					t.Errorf("after %d looks: left of the job are %+v, %+v", looks, l.job("a"), claims)
				}
			case "scheduling":
				if l.scheduling("s") != nil || len(claims) > 0 || len(l.children()) > 0 {
					t.Errorf("after %d looks: left of the scheduling are %+v, %+v", looks, l.scheduling("s"), claims)
				}
				l.want(fmt.Sprint("after ", looks, " looks"), "a Ready, b Ready", l.states("s", "a", "b"))
			case "both":
				if l.job("a") != nil || l.scheduling("s") != nil || len(claims) > 0 || len(l.children()) > 0 {
					t.Errorf("after %d looks: left are %+v, %+v, %+v", looks, l.job("a"), l.scheduling("s"), claims)
				}
			}
			for _, p := range l.pods("") {
				if p.Labels[v1alpha1.LabelBatchJobUID] == "uid-a" && p.DeletionTimestamp == nil && what != "job" {
					t.Errorf("after %d looks: a pod is left", looks)
				}
			}
		}
	}
}

// A job that its Scheduling no longer lists is released, and its run cancelled.
func TestRemovedFromScheduling(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b").withQueue("s", "a", "b")
	l.settle()
	amend(l, "s", func(s *v1alpha1.Scheduling) { s.Spec.QueueBased = s.Spec.QueueBased[:1] })
	l.settle()
	l.want("one is left", "a Running, b Ready, s AwaitingCompletion", l.states("s", "a", "b"))
	if runs := l.job("b").Status.Runs; len(runs) != 1 || runs[0].Outcome != v1alpha1.Cancelled {
		t.Errorf("%+v", runs)
	}
	if claims := l.testbed().Status.Claims; len(claims) != 1 || claims[0].BatchJob != "lab/a" {
		t.Errorf("%+v", claims)
	}
}

// A claim that a lagging controller granted a Scheduling without the job is returned, whatever the
// job's state; the job gets its own.
func TestStrangeClaim(t *testing.T) {
	for _, looks := range []int{0, 3, 6} {
		l := newLab(t).withTestbed(1).withJobs("a")
		tb := l.testbed()
		tb.Status.Claims = []v1alpha1.Claim{{
			BatchJobUID: l.job("a").UID, BatchJob: "lab/a", Scheduling: "lab/old", SchedulingUID: "old", Slots: []string{"n0/0"}, Since: metav1.Time{Time: l.now},
		}}
		l.withQueue("s", "a")
		for range looks {
			l.look()
		}
		l.must(l.api.Status().Update(t.Context(), tb))
		l.settle()
		l.want("its own", "a Running, s AwaitingCompletion", l.states("s", "a"))
		if claims := l.testbed().Status.Claims; len(claims) != 1 || claims[0].Scheduling != "lab/s" {
			t.Errorf("%+v", claims)
		}
	}
}

// A job whose Testbed is deleted between acquisition and trial is tried again, although no watch
// reports a new Testbed.
func TestTestbedGoneBeforeTrial(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a")
	l.trial = func(*unstructured.Unstructured) error { return apierrors.NewInternalError(errors.New("it starts")) }
	l.withQueue("s", "a")
	for range 2 {
		_, _ = l.act(l.jobs, "a") // the result is unknown
		if _, err := l.act(l.schedulings, "s"); err != nil {
			t.Fatal(err)
		}
	}
	if job := l.job("a"); job.Status.ActiveScheduling == nil {
		t.Fatalf("a is nobody's: %+v", job.Status)
	}
	remove[v1alpha1.Testbed](l, "small")
	l.trial = nil
	for range 2 {
		after, err := l.act(l.jobs, "a")
		if err != nil || after == 0 || after > operatorPoll {
			t.Fatalf("it is looked at again after %v, %v", after, err)
		}
		l.now = l.now.Add(after)
	}
	l.withTestbed(1).settle()
	l.want("its Testbed is back", "a Running, s AwaitingCompletion", l.states("s", "a"))
}

// Changes of a Scheduling's jobs within a short time are one write of its status, unless it is
// deleted or edited meanwhile.
func TestJobsToldTogether(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	begun := func() *lab {
		l := newLab(t).withTestbed(2).withJobs(names...)
		l.look()
		l.withQueue("s", names...)
		l.mustAct(l.schedulings, "s")
		return l
	}
	l := begun()
	l.writes = nil
	for range 3 {
		l.grant()
		for _, name := range names {
			l.mustAct(l.jobs, name)
			l.mustAct(l.schedulings, "s")
		}
	}
	if n := l.writesOf("status Scheduling s"); n != 0 {
		t.Errorf("%d writes while its jobs go on: %q", n, l.writes)
	}
	l.now = l.now.Add(jobsQuiet)
	l.mustAct(l.schedulings, "s")
	if n := l.writesOf("status Scheduling s"); n != 1 {
		t.Errorf("%d writes after that, want 1: %q", n, l.writes)
	}
	l.settle()
	l.want("in the end", "a Running, b Running, c Running, d Running, s AwaitingCompletion", l.states("s", names...))

	l = begun()
	amend(l, "s", func(s *v1alpha1.Scheduling) { s.Spec.Priority = 5 })
	l.mustAct(l.schedulings, "s")
	if s := l.scheduling("s"); s.Status.ObservedGeneration != s.Generation {
		t.Error("one that was edited is left alone")
	}
	remove[v1alpha1.Scheduling](l, "s")
	l.mustAct(l.schedulings, "s")
	if s := l.scheduling("s"); s != nil && s.Status.State != v1alpha1.SchedulingReleasing {
		t.Errorf("one that was deleted is %s", s.Status.State)
	}
}

// mustAct reconciles an object and fails the test on an error.
func (l *lab) mustAct(r reconcile.Reconciler, name string) {
	l.t.Helper()
	if _, err := l.act(r, name); err != nil {
		l.t.Fatal(err)
	}
}

// An application that is deleted before the run has recorded it is lost, as one that is deleted
// later, and is not created again; one that the cache does not show yet is not lost.
func TestDeletedAtOnce(t *testing.T) {
	for _, what := range []string{"deleted", "deleted, and nobody remembers", "not seen yet"} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t).withTestbed(1).withJobs("a")
			l.look()
			l.withQueue("s", "a")
			l.mustAct(l.schedulings, "s")
			l.grant()
			caches := &behind{l, map[string]client.Client{}}
			caches.catchUp(walkKinds...)
			l.mustAct(l.jobs, "a")
			if l.want("a", "s's, Submitted", l.of("a")); l.created["a-r1"] != 1 {
				t.Fatal("it was not created")
			}
			want, times := "a Failed, s Completed", 1
			switch what {
			case "not seen yet":
				// The cache shows everything except the application.
				caches.catchUp(slices.DeleteFunc(slices.Clone(walkKinds), func(kind string) bool { return kind == "Job" })...)
				l.jobs.cached = cacheReader{caches}
				l.now = l.now.Add(creationQuiet)
				l.mustAct(l.jobs, "a")
				l.jobs.cached = cacheReader{l.api}
				want = "a Running, s AwaitingCompletion"
			case "deleted, and nobody remembers":
				l.restart()
				want, times = "a Running, s AwaitingCompletion", 2
				fallthrough
			default:
				l.must(l.api.Delete(t.Context(), get[batchv1.Job](l, "a-r1")))
			}
			l.settle()
			l.want("in the end", want, l.states("s", "a"))
			if n := l.created["a-r1"]; n != times {
				t.Errorf("it was created %d times", n)
			}
			if run := l.job("a").Status.Runs[0]; what == "deleted" && (run.Reason != lifecycle.ReasonLost || run.Application == "") {
				t.Errorf("%+v", run)
			}
		})
	}
}
