package controller

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// of returns the job's Scheduling and state.
func (l *lab) of(job string) string {
	status, holder := &l.job(job).Status, "nobody"
	if status.ActiveScheduling != nil {
		holder = status.ActiveScheduling.Name
	}
	return holder + "'s, " + string(status.State)
}

// A job that gets slots at once is taken, queued and submitted with one write, and the next one
// creates its application.
func TestTakenWithItsSlots(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b")
	l.look()
	l.withQueue("s", "a", "b")
	l.writes = nil
	l.mustAct(l.schedulings, "s")
	if diff := cmp.Diff([]string{"patch Scheduling s", "status Scheduling s"}, l.writes); diff != "" {
		t.Error(diff)
	}
	l.grant()
	if claims := l.testbed().Status.Claims; len(claims) != 2 {
		t.Fatalf("claims are %+v", claims)
	}
	for _, name := range []string{"a", "b"} {
		l.writes = nil
		l.mustAct(l.jobs, name)
		if diff := cmp.Diff([]string{"status BatchJob " + name, "create Job " + name + "-r1"}, l.writes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		l.want(name, "s's, Submitted", l.of(name))
		if conditions := l.job(name).Status.Conditions; !meta.IsStatusConditionTrue(conditions, v1alpha1.BatchJobAcquired) {
			t.Errorf("%s: %+v", name, conditions)
		}
	}
	l.settle()
	l.want("in the end", "a Running, b Running, s AwaitingCompletion", l.states("s", "a", "b"))
	if s := l.scheduling("s"); !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.SchedulingAcquired) {
		t.Errorf("%+v", s.Status.Conditions)
	}
}

// A job that has a claim is left to its own controller, however long that takes, because taking it
// would be an extra write.
func TestTakenLate(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b", "c")
	l.look()
	l.withQueue("s", "a", "b", "c")
	l.mustAct(l.schedulings, "s")
	l.grant()
	l.writes = nil
	for range 3 {
		l.unreserved()
		l.mustAct(l.schedulings, "s")
	}
	if diff := cmp.Diff([]string{"status BatchJob c"}, l.writesOfKind("BatchJob")); diff != "" {
		t.Error(diff)
	}
	l.want("c has no slots", "s's, InQueue", l.of("c"))
	l.settle()
	l.want("in the end", "a Running, b Running, c InQueue, s Submitting", l.states("s", "a", "b", "c"))
}

// writesOfKind returns the writes of objects of a kind.
func (l *lab) writesOfKind(kind string) []string {
	return slices.DeleteFunc(slices.Clone(l.writes), func(w string) bool { return !strings.Contains(w, " "+kind+" ") })
}

// If there are slots for some of the jobs, those get them, and the others wait as the Scheduling's.
func TestTakenWithoutSlots(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b", "c")
	l.look()
	l.withQueue("s", "a", "b", "c").settle()
	l.want("there are two slots", "a Running, b Running, c InQueue, s Submitting", l.states("s", "a", "b", "c"))
	l.want("c", "s's, InQueue", l.of("c"))
	l.finish("a-r1", batchv1.JobComplete)
	l.settle()
	l.want("one has ended", "a Completed, b Running, c Running, s AwaitingCompletion", l.states("s", "a", "b", "c"))
}

// A job that is reserved for one Scheduling is not given to another, even if the cache does not
// have the reservation yet and the other comes first.
func TestReservedByOne(t *testing.T) {
	l := newLab(t).withTestbed(2).withJobs("a", "b")
	l.look()
	l.withQueue("s", "a", "b").withQueue("t", "b")
	amend(l, "t", func(s *v1alpha1.Scheduling) { s.Spec.Priority = 9 })
	before := l.scheduling("s")
	l.schedulings.cached = only{l.api, "s"}
	l.mustAct(l.schedulings, "s")
	for _, what := range []string{"behind", "not behind"} {
		l.schedulings.cached = l.api
		if what == "behind" {
			l.schedulings.cached = stale{l.api, before}
		}
		for range 2 {
			after, err := l.act(l.schedulings, "t")
			if err != nil {
				t.Fatal(err)
			}
			if what == "behind" && after == 0 {
				t.Error("it does not come again")
			}
		}
		c := meta.FindStatusCondition(l.scheduling("t").Status.Conditions, v1alpha1.SchedulingAcquired)
		if what == "behind" && c != nil || what != "behind" && (c == nil || c.Reason != "Waiting") {
			t.Errorf("%s: %+v", what, c)
		}
		l.want(what, "nobody's, Ready", l.of("b"))
	}
	l.settle()
	l.want("who reserved them", "a Running, b Running, s AwaitingCompletion", l.states("s", "a", "b"))
	l.want("who was not", "t Acquiring", l.states("t"))
}

// A controller that has locked jobs and finds that the cache misses another's decision releases
// them.
func TestUnlocksWhenBehind(t *testing.T) {
	l := newLab(t).withTestbed(2).withJobs("a", "b")
	l.look()
	l.withQueue("s", "a", "b").withQueue("t", "b")
	rival := l.scheduling("t")
	rival.ResourceVersion += "0" // it was written after it was listed first
	l.schedulings.known.set(client.ObjectKeyFromObject(rival), schedulingMemory{written: versionOf(rival)})
	after, err := l.act(l.schedulings, "s")
	if err != nil || after == 0 {
		t.Errorf("it comes again after %v, %v", after, err)
	}
	if s := l.scheduling("s"); s.Status.State != "" || len(l.schedulings.locks.locked) > 0 {
		t.Errorf("%q, and locked are %v", s.Status.State, l.schedulings.locks.locked)
	}
	l.schedulings.known.forget(client.ObjectKeyFromObject(rival)) // it is seen
	l.settle()
	l.want("in the end", "a Running, b Running, s AwaitingCompletion", l.states("s", "a", "b"))
}

// A job that this process has just given to another Scheduling is not reserved, although the cache
// still shows it as available.
func TestTakenIsNotReserved(t *testing.T) {
	l := newLab(t).withTestbed(2).withJobs("b")
	l.look()
	caches := &behind{l, map[string]client.Client{}}
	caches.catchUp("BatchJob") // as it is before it is taken
	l.withQueue("t", "b")
	amend(l, "t", func(s *v1alpha1.Scheduling) { s.Spec.Exclusive = true }) // which reserves nothing
	l.mustAct(l.schedulings, "t")
	l.want("taken", "t's, InQueue", l.of("b"))
	l.withQueue("s", "b")
	amend(l, "s", func(s *v1alpha1.Scheduling) { s.Spec.Priority = 9 })
	caches.catchUp("Testbed", "Scheduling")
	l.schedulings.cached = caches
	if after, err := l.act(l.schedulings, "s"); err != nil || after == 0 {
		t.Errorf("it does not come again: %v, %v", after, err)
	}
	if s := l.scheduling("s"); s.Status.State != "" {
		t.Errorf("s is %+v", s.Status)
	}
}

// stale is a cache that has an old version of one Scheduling.
type stale struct {
	client.Reader
	was *v1alpha1.Scheduling
}

func (s stale) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := s.Reader.List(ctx, list, opts...)
	if of, ok := list.(*v1alpha1.SchedulingList); ok {
		for i := range of.Items {
			if of.Items[i].UID == s.was.UID {
				s.was.DeepCopyInto(&of.Items[i])
			}
		}
	}
	return err
}

// A claim of a job that its Scheduling has lost meanwhile is returned, and nothing was run.
func TestReservationLapses(t *testing.T) {
	for what, lose := range map[string]func(*lab){
		"deleted": func(l *lab) { remove[v1alpha1.Scheduling](l, "s") },
		"edited": func(l *lab) {
			amend(l, "s", func(s *v1alpha1.Scheduling) { s.Spec.QueueBased = s.Spec.QueueBased[1:] })
		},
		"edited elsewhere": func(l *lab) {
			amend(l, "s", func(s *v1alpha1.Scheduling) { s.Spec.Priority = 5 })
		},
		"job edited": func(l *lab) {
			amend(l, "a", func(j *v1alpha1.BatchJob) { j.Spec.JobSpec.Raw = append(j.Spec.JobSpec.Raw, ' ') })
		},
	} {
		l := newLab(t).withTestbed(1).withJobs("a", "b")
		l.look()
		l.withQueue("s", "a", "b")
		l.mustAct(l.schedulings, "s")
		l.grant()
		lose(l)
		l.mustAct(l.jobs, "a")
		l.want(what, "nobody's, Ready", l.of("a"))
		uid := l.job("a").UID
		if claims := l.testbed().Status.Claims; slices.ContainsFunc(claims, func(c v1alpha1.Claim) bool { return c.BatchJobUID == uid }) || len(claims) != 1 {
			t.Errorf("%s: claims are %+v", what, claims)
		}
		if children := l.children(); len(children) > 0 {
			t.Errorf("%s: there are %+v", what, children)
		}
	}
}

// A job that is deleted before it is taken, while another has begun, keeps its Scheduling from
// ending no more than one that is deleted later.
func TestReservedJobDeleted(t *testing.T) {
	for _, begun := range []bool{false, true} {
		l := newLab(t).withTestbed(1).withJobs("a", "b")
		l.look()
		l.withQueue("s", "a", "b")
		l.mustAct(l.schedulings, "s")
		l.grant()
		if begun {
			l.mustAct(l.jobs, "a")
			l.want("a has begun", "s's, Submitted", l.of("a"))
		}
		remove[v1alpha1.BatchJob](l, "b")
		for range 2 { // its claim, its finalizer
			l.mustAct(l.jobs, "b")
		}
		if get[v1alpha1.BatchJob](l, "b") != nil {
			t.Fatal("b is there")
		}
		l.settle()
		l.want("the other", "a Running, s AwaitingCompletion", l.states("s", "a"))
		l.finish("a-r1", batchv1.JobComplete)
		l.settle()
		l.want("in the end", "a Completed, s Completed", l.states("s", "a"))
		if claims := l.testbed().Status.Claims; len(claims) > 0 {
			t.Errorf("begun %t: left are %+v", begun, claims)
		}
	}
}

// A claim that only the cache still has gives no Scheduling the job.
func TestReservationIsConfirmed(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a")
	l.look()
	l.withQueue("s", "a")
	l.mustAct(l.schedulings, "s")
	l.grant()
	caches := &behind{l, map[string]client.Client{}}
	caches.catchUp(walkKinds...)
	l.jobs.cached = cacheReader{caches}
	tb := l.testbed()
	tb.Status.Claims = nil
	l.must(l.api.Status().Update(t.Context(), tb))
	l.mustAct(l.jobs, "a")
	l.want("it was taken back", "nobody's, Ready", l.of("a"))
}

// A deleted Scheduling remains until its jobs are released, also those that it still gets because
// their controller lags.
func TestGoneAfterItsJobs(t *testing.T) {
	for _, behindIt := range []bool{false, true} {
		l := newLab(t).withTestbed(1).withJobs("a")
		l.look()
		l.withQueue("s", "a")
		l.mustAct(l.schedulings, "s")
		l.grant()
		if behindIt {
			caches := &behind{l, map[string]client.Client{}}
			caches.catchUp(walkKinds...)
			l.jobs.cached = cacheReader{caches}
		}
		remove[v1alpha1.Scheduling](l, "s")
		for range 3 {
			l.mustAct(l.schedulings, "s")
		}
		if l.scheduling("s") == nil {
			t.Fatalf("behind %t: it is gone, and a may yet be its own", behindIt)
		}
		l.mustAct(l.jobs, "a")
		l.want("a", map[bool]string{false: "nobody's, Ready", true: "s's, Submitted"}[behindIt], l.of("a"))
		l.mustAct(l.schedulings, "s")
		if gone := l.scheduling("s") == nil; gone == behindIt {
			t.Errorf("behind %t: it is gone: %t", behindIt, gone)
		}
		l.jobs.cached = cacheReader{l.api}
		l.settle()
		l.want("in the end", "nobody's, Ready", l.of("a"))
		if l.scheduling("s") != nil || len(l.testbed().Status.Claims) > 0 || len(l.children()) > 0 {
			t.Errorf("left are %v, %+v, %v", l.scheduling("s"), l.testbed().Status.Claims, l.children())
		}
	}
}

// While a decision about a job is being written, no other worker decides about it.
func TestOneDecisionAtATime(t *testing.T) {
	l := newLab(t).withTestbed(2).withJobs("b")
	l.look()
	l.withJobs("c").withQueue("s", "b").withQueue("t", "b", "c") // c was not tried, so that t takes its jobs at once
	amend(l, "t", func(s *v1alpha1.Scheduling) { s.Spec.Priority = 9 })
	seen := l.schedulings.cached
	l.between = func(write string) {
		if write != "status Scheduling t" {
			return
		}
		l.between = nil
		l.schedulings.cached = only{l.api, "s"} // by what s sees, b would be its own
		if after, err := l.act(l.schedulings, "s"); err != nil || after == 0 {
			t.Errorf("s does not come again: %v, %v", after, err)
		}
		l.schedulings.cached = seen
	}
	l.mustAct(l.schedulings, "t")
	if l.between != nil {
		t.Fatal("nothing happened between")
	}
	if s := l.scheduling("s"); s.Status.State != "" {
		t.Errorf("s is %+v", s.Status)
	}
	l.want("b", "t's, InQueue", l.of("b"))
}

// A claim by another Scheduling than the job's goes while the job runs in its own slots, wherever
// it is.
func TestStrayClaimGoes(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a")
	l.withQueue("s", "a").settle()
	l.want("begun", "a Running, s AwaitingCompletion", l.states("s", "a"))
	for _, name := range []string{"another", "zoo"} { // before and after its own
		other := &v1alpha1.Testbed{}
		other.Name, other.Namespace = name, "lab"
		other.Status.Nodes = v1alpha1.TestbedNodes{{Name: "m", Slots: 1, Wanted: 1}}
		other.Status.Claims = []v1alpha1.Claim{{
			BatchJobUID: l.job("a").UID, BatchJob: "lab/a", Scheduling: "lab/late", SchedulingUID: "late", Slots: []string{"m/0"},
		}}
		put(l, other)
		l.settle()
		if claims := get[v1alpha1.Testbed](l, name).Status.Claims; len(claims) > 0 {
			t.Errorf("%s: left are claims %+v", name, claims)
		}
	}
	l.want("after it", "a Running, s AwaitingCompletion", l.states("s", "a"))
	if claims := l.testbed().Status.Claims; len(claims) != 1 || len(l.children()) != 1 {
		t.Errorf("of its own are left %+v", claims)
	}
}

// Two controllers reserve the same jobs at the same time, each for another Scheduling, and each
// starts one: neither waits for ever for the other's job, but gets it once the other is gone.
func TestReservedTwice(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b")
	put(l, &v1alpha1.Testbed{
		ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Status:     v1alpha1.TestbedStatus{Nodes: v1alpha1.TestbedNodes{{Name: "m", Slots: 2, Wanted: 2}}},
	})
	l.look()
	l.withQueue("s", "a", "a", "b").withQueue("t", "b", "b", "a")
	amend(l, "t", func(t *v1alpha1.Scheduling) { t.Spec.Testbed.Name = "other" })
	for _, name := range []string{"s", "t"} {
		l.restart()
		l.schedulings.cached = only{l.api, name}
		l.mustAct(l.schedulings, name)
	}
	l.restart()
	l.grant()
	for _, name := range []string{"a", "b"} {
		l.mustAct(l.jobs, name)
	}
	l.settle()
	l.want("each has one", "a Running, b Running, s Acquiring", l.states("s", "a", "b"))
	l.want("and waits", "t Acquiring", l.states("t"))
	l.want("a", "s's, Running", l.of("a"))
	l.want("b", "t's, Running", l.of("b"))
	l.finish("a-r1", batchv1.JobComplete)
	l.finish("b-r1", batchv1.JobComplete)
	l.settle()
	l.want("both have ended", "a Completed, b Completed, s Completed", l.states("s", "a", "b"))
	l.want("so has the other", "t Completed", l.states("t"))
	remove[v1alpha1.Scheduling](l, "s")
	l.settle()
	l.want("one is gone", "a Running, b Completed, t AwaitingCompletion", l.states("t", "a", "b"))
	l.want("a", "t's, Running", l.of("a"))
	if n := l.created["b-r1"] + l.created["b-r2"]; n != 1 {
		t.Errorf("b was created %d times", n)
	}
}

// A Scheduling that completes without a job that another has keeps those that have ended, also one
// that was refused before it had slots, so that their results are not lost.
func TestCompletedRollsNothingBack(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b", "f")
	l.look()
	l.withQueue("s", "a", "b", "f").withQueue("t", "b")
	l.schedulings.cached = only{l.api, "s"}
	l.mustAct(l.schedulings, "s")
	l.schedulings.cached = l.api
	end := func(name, holder string, state v1alpha1.BatchJobState, begun bool) {
		job, s := l.job(name), l.scheduling(holder)
		job.Status.State, job.Status.ActiveScheduling = state, &v1alpha1.ObjectReference{Name: s.Name, UID: s.UID}
		if begun {
			job.Status.CreationRequest = &v1alpha1.CreationRequest{}
		}
		l.must(l.api.Status().Update(t.Context(), job))
	}
	end("a", "s", v1alpha1.BatchJobCompleted, true)
	end("b", "t", v1alpha1.BatchJobRunning, true)
	end("f", "s", v1alpha1.BatchJobFailed, false)
	l.now = l.now.Add(jobsQuiet)
	l.mustAct(l.schedulings, "s")
	l.want("s", "s Completed", l.states("s"))
	l.want("a", "s's, Completed", l.of("a"))
	l.want("f", "s's, Failed", l.of("f"))
}
