package controller

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

func (l *lab) withPlaced(name string, mode v1alpha1.SlotMode, jobs ...v1alpha1.SlotJob) *lab {
	put(l, &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SchedulingSpec{
		Testbed: v1alpha1.TestbedReference{Name: "small"}, SlotBased: &v1alpha1.SlotBased{Mode: mode, Jobs: jobs},
	}})
	return l
}

func placed(job string, slots ...string) v1alpha1.SlotJob {
	of := v1alpha1.SlotJob{Name: job}
	for _, id := range slots {
		of.Slots = append(of.Slots, v1alpha1.SlotReference{Text: id})
	}
	return of
}

// The reason why a Scheduling waits names its job and the holder of what the job needs.
func TestWhyASchedulingWaits(t *testing.T) {
	exclusive := func(l *lab, name string) {
		amend(l, name, func(s *v1alpha1.Scheduling) { s.Spec.Exclusive = true })
	}
	for name, test := range map[string]struct {
		prepare func(*lab)
		want    string
	}{
		"its job is another's": {func(l *lab) { l.withQueue("first", "a").settle(); l.withQueue("s", "a", "b") },
			"the BatchJob lab/a is Running for the Scheduling lab/first, which has it until it is deleted, and 1 more"},
		"slots of a queue": {func(l *lab) { l.withQueue("first", "a", "a", "a").settle(); l.withQueue("s", "b", "b", "b") },
			"the BatchJob lab/b waits for 3 slots, of which 1 are not claimed; the BatchJob lab/a of the Scheduling lab/first has 3 slots"},
		"a slot that is named": {func(l *lab) {
			l.withQueue("first", "a").settle()
			l.withPlaced("s", v1alpha1.Strict, placed("b", "n1/1", "n0/0"))
		}, "the BatchJob lab/b waits for slot n0/0; the BatchJob lab/a of the Scheduling lab/first has 1 slot"},
		"a slot of its own other job": {func(l *lab) { l.withPlaced("s", v1alpha1.Strict, placed("a", "n0/0"), placed("b", "n0/0")) },
			"the BatchJob lab/b waits for slot n0/0; the BatchJob lab/a of the Scheduling lab/s has 1 slot"},
		"a Testbed that is locked": {func(l *lab) {
			l.withQueue("first", "a")
			exclusive(l, "first")
			l.settle()
			l.withQueue("s", "b")
		}, "another Scheduling uses the Testbed lab/small exclusively; the BatchJob lab/a of the Scheduling lab/first has 1 slot"},
		"others, to be alone": {func(l *lab) {
			l.withQueue("first", "a").settle()
			l.withQueue("s", "b")
			exclusive(l, "s")
		}, "it waits for exclusive use of the Testbed lab/small; the BatchJob lab/a of the Scheduling lab/first has 1 slot"},
		"no operator": {func(l *lab) { l.withSpark("spark").withQueue("s", "spark", "b") },
			"OperatorMissing: the BatchJob lab/spark: the API server knows no SparkApplication"},
		"no such job": {func(l *lab) { l.withQueue("s", "b", "nobody") }, "UnknownJob: there is no BatchJob lab/nobody"},
		"nothing":     {func(l *lab) { l.withQueue("s", "b") }, ""},
	} {
		l := newLab(t).withTestbed(2).withJobs("a", "b")
		test.prepare(l)
		l.settle()
		s := l.scheduling("s")
		if got := s.Status.Reason; got != test.want && (test.want == "" || !strings.HasPrefix(got, test.want)) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		done := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.SchedulingIsCompleted)
		if done == nil || done.Status != metav1.ConditionFalse || done.Message != s.Status.Reason {
			t.Errorf("%s: %+v", name, done)
		}
	}
}

// A job that is deleted before it ended has failed, whatever its state; one that had ended is not
// reported.
func TestJobDeletedInMidRunIsToldOf(t *testing.T) {
	for name, test := range map[string]struct {
		onFailure v1alpha1.OnFailure
		ends      bool
		state     v1alpha1.SchedulingState
		reason    string
	}{
		"in mid-run":               {v1alpha1.OnFailureContinue, false, v1alpha1.SchedulingCompleted, "JobsFailed: 1 of 2: lab/a: Deleted before it ended"},
		"in mid-run, and it stops": {v1alpha1.OnFailureStop, false, v1alpha1.SchedulingFailed, "JobsFailed: 1 of 2: lab/a: Deleted before it ended"},
		"after its end":            {v1alpha1.OnFailureContinue, true, v1alpha1.SchedulingCompleted, ""},
	} {
		l := newLab(t).withTestbed(2).withJobs("a", "b").withQueue("s", "a", "b")
		amend(l, "s", func(s *v1alpha1.Scheduling) { s.Spec.OnFailure = test.onFailure })
		l.settle()
		l.want(name, "a Running, b Running, s AwaitingCompletion", l.states("s", "a", "b"))
		if test.ends {
			l.finish("a-r1", "Complete")
			l.settle()
		}
		remove[v1alpha1.BatchJob](l, "a")
		l.settle()
		l.finish("b-r1", "Complete")
		l.settle()
		for range 2 { // it is no different after another look
			s := l.scheduling("s")
			done := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.SchedulingIsCompleted)
			if s.Status.State != test.state || s.Status.Reason != test.reason || done.Message != test.reason || (done.Reason == "Completed") != (test.reason == "") {
				t.Errorf("%s: %s, %q, %+v", name, s.Status.State, s.Status.Reason, done)
			}
			want := v1alpha1.BatchJobFailed
			if test.ends {
				want = v1alpha1.BatchJobCompleted
			}
			if job := s.Status.Jobs[0]; job.Name != "a" || job.State != want || (job.Reason == "") != test.ends {
				t.Errorf("%s: %+v", name, job)
			}
			l.restart()
			l.settle()
		}
	}
}

// Fields that Spazio overrides are reported at once, with the used value, and no more once they are
// gone.
func TestOverriddenFieldsAreToldOf(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "plain")
	amend(l, "a", func(j *v1alpha1.BatchJob) {
		j.Spec.JobSpec.Raw = []byte(`{"backoffLimit":6,"ttlSecondsAfterFinished":60,"template":{"spec":{"containers":[{"name":"main","image":"x"}]}}}`)
	})
	l.settle()
	overridden := func(name string) *metav1.Condition {
		return meta.FindStatusCondition(l.job(name).Status.Conditions, v1alpha1.BatchJobOverridden)
	}
	const want = "spec.jobSpec.backoffLimit = 6 is 0; spec.jobSpec.ttlSecondsAfterFinished = 60 is dropped"
	if c := overridden("a"); c == nil || c.Status != metav1.ConditionTrue || c.Message != want {
		t.Errorf("%+v", c)
	}
	if c := overridden("plain"); c != nil {
		t.Errorf("%+v", c)
	}
	told := l.events()
	if n := len(slices.DeleteFunc(told, func(e string) bool { return !strings.HasPrefix(e, "Warning FieldsOverridden "+want) })); n != 1 {
		t.Errorf("told %d times", n)
	}
	l.withQueue("s", "a").settle()
	l.want("under way", "a Running, s AwaitingCompletion", l.states("s", "a"))
	if c := overridden("a"); c == nil || c.Message != want {
		t.Errorf("%+v", c)
	}
	amend(l, "a", func(j *v1alpha1.BatchJob) {
		j.Spec.JobSpec.Raw = []byte(`{"template":{"spec":{"containers":[{"name":"main","image":"x"}]}}}`)
	})
	l.settle()
	if c := overridden("a"); c != nil {
		t.Errorf("they are gone: %+v", c)
	}
}

// The end of a Scheduling names a failed job with its reason.
func TestFailedJobIsToldOf(t *testing.T) {
	l := newLab(t).withTestbed(2).withJobs("a", "b").withQueue("s", "a", "b")
	l.settle()
	l.finish("a-r1", "Failed")
	l.finish("b-r1", "Complete")
	l.settle()
	if s := l.scheduling("s"); s.Status.Reason != "JobsFailed: 1 of 2: lab/a: Because" {
		t.Errorf("%+v", s.Status)
	}
}
