package controller

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// A cached object older than the last own write is not used; another object of the same name is.
func TestWrites(t *testing.T) {
	job := func(name, uid, version string) *v1alpha1.BatchJob {
		return &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID(uid), ResourceVersion: version}}
	}
	var w writes
	look := func(want bool, o *v1alpha1.BatchJob) {
		t.Helper()
		if got := w.unseen(o); got != want {
			t.Errorf("%s %s at %s is older: %v", o.Name, o.UID, o.ResourceVersion, got)
		}
	}
	look(false, job("a", "1", "5"))
	w.note(job("a", "1", "10"))
	look(true, job("a", "1", "9"))
	look(false, job("b", "1", "9"))
	look(false, job("a", "1", "10"))
	look(false, job("a", "1", "11"))
	look(false, job("a", "2", "9"))
	w.forget(types.NamespacedName{Namespace: "lab", Name: "a"})
	look(false, job("a", "1", "9"))
	w.note(job("a", "1", "ten"))
	look(false, job("a", "1", "9"))
}

// A Scheduling is woken only by those fields of a job that it depends on.
func TestSameMember(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	for what, change := range map[string]struct {
		same   bool
		change func(*v1alpha1.BatchJob)
	}{
		"nothing":        {true, func(*v1alpha1.BatchJob) {}},
		"pods":           {true, func(j *v1alpha1.BatchJob) { j.Status.Pods = &v1alpha1.PodCounts{Expected: 3, Bound: 2} }},
		"application":    {true, func(j *v1alpha1.BatchJob) { j.Status.Application = &v1alpha1.Application{Name: "a-r1"} }},
		"labels":         {true, func(j *v1alpha1.BatchJob) { j.Labels = map[string]string{"a": "b"} }},
		"runs":           {true, func(j *v1alpha1.BatchJob) { j.Status.Runs = []v1alpha1.Run{{Attempt: 1}} }},
		"another":        {false, func(j *v1alpha1.BatchJob) { j.UID = "another" }},
		"spec":           {false, func(j *v1alpha1.BatchJob) { j.Generation++ }},
		"deletion":       {false, func(j *v1alpha1.BatchJob) { j.DeletionTimestamp = &at }},
		"state":          {false, func(j *v1alpha1.BatchJob) { j.Status.State = v1alpha1.BatchJobCompleted }},
		"scheduling":     {false, func(j *v1alpha1.BatchJob) { j.Status.ActiveScheduling = nil }},
		"other one":      {false, func(j *v1alpha1.BatchJob) { j.Status.ActiveScheduling.UID = "t" }},
		"request":        {false, func(j *v1alpha1.BatchJob) { j.Status.CreationRequest = nil }},
		"slots":          {false, func(j *v1alpha1.BatchJob) { j.Status.CreationRequest.Slots = []string{"b/0"} }},
		"delay":          {false, func(j *v1alpha1.BatchJob) { j.Status.NotBefore = &at }},
		"valid":          {false, func(j *v1alpha1.BatchJob) { j.Status.Conditions[0].Status = metav1.ConditionFalse }},
		"not looked at":  {false, func(j *v1alpha1.BatchJob) { j.Status.Conditions = nil }},
		"other opinions": {true, func(j *v1alpha1.BatchJob) { j.Status.Conditions[1].Status = metav1.ConditionFalse }},
	} {
		was := &v1alpha1.BatchJob{
			ObjectMeta: metav1.ObjectMeta{UID: "a", Generation: 1},
			Status: v1alpha1.BatchJobStatus{
				State: v1alpha1.BatchJobSubmitted, ActiveScheduling: &v1alpha1.ObjectReference{UID: "s"},
				CreationRequest: &v1alpha1.CreationRequest{Slots: []string{"a/0"}, Attempt: 1},
				Conditions: []metav1.Condition{
					{Type: v1alpha1.BatchJobValid, Status: metav1.ConditionTrue}, {Type: v1alpha1.BatchJobIsRunning, Status: metav1.ConditionTrue},
				},
			},
		}
		is := was.DeepCopy()
		change.change(is)
		if got := sameForSchedulings(was, is); got != change.same {
			t.Errorf("%s: the same is %v", what, got)
		}
	}
}

// A Testbed is woken by the state of a job that has its slots, not by the progress of its pods.
func TestTestbedWokenByJob(t *testing.T) {
	b := newBed(t)
	tb := b.testbed("small", 1)
	status(b, tb, func(tb *v1alpha1.Testbed) {
		tb.Status.Claims = []v1alpha1.Claim{{BatchJobUID: "a", BatchJob: "lab/a", Scheduling: "lab/s", SchedulingUID: "s", Slots: []string{"a/0"}}}
	})
	bed, r := client.ObjectKeyFromObject(tb), b.replica()
	var woken []types.NamespacedName
	r.wake = func(name types.NamespacedName, _ time.Duration) { woken = append(woken, name) }
	was := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{UID: "a"}, Status: v1alpha1.BatchJobStatus{State: v1alpha1.BatchJobSubmitted}}
	bound, scheduled := was.DeepCopy(), was.DeepCopy()
	bound.Status.Pods = &v1alpha1.PodCounts{Expected: 2, Bound: 1}
	scheduled.Status.State = v1alpha1.BatchJobScheduled
	for _, change := range []struct {
		what          string
		before, after *v1alpha1.BatchJob
		wakes         bool
	}{
		{"came", nil, was, true}, {"a pod is bound", was, bound, false}, {"all are", was, scheduled, true}, {"gone", was, nil, true},
	} {
		woken = nil
		var before, after client.Object
		if change.before != nil {
			before = change.before
		}
		if change.after != nil {
			after = change.after
		}
		if r.jobChanged(before, after); slices.Contains(woken, bed) != change.wakes {
			t.Errorf("%s: woken are %v", change.what, woken)
		}
	}
}

// Jobs are woken by what their Scheduling wants, not by its status.
func TestSpecChanges(t *testing.T) {
	at := metav1.Now()
	for what, change := range map[string]struct {
		wakes  bool
		change func(*v1alpha1.Scheduling)
	}{
		"status":   {false, func(s *v1alpha1.Scheduling) { s.Status.State = v1alpha1.SchedulingSubmitting }},
		"spec":     {true, func(s *v1alpha1.Scheduling) { s.Generation++ }},
		"deletion": {true, func(s *v1alpha1.Scheduling) { s.DeletionTimestamp = &at }},
		"another":  {true, func(s *v1alpha1.Scheduling) { s.UID = "another" }},
	} {
		was := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{UID: "s", Generation: 1}}
		is := was.DeepCopy()
		change.change(is)
		if got := specChanges.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != change.wakes {
			t.Errorf("%s: wakes is %v", what, got)
		}
	}
	if !specChanges.Create(event.CreateEvent{}) || !specChanges.Delete(event.DeleteEvent{}) {
		t.Error("one that comes or goes wakes nobody")
	}
}

// A job whose application was just created is left alone for a while; its status until then is one
// write.
func TestCreatedAndLeftAlone(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a").withQueue("s", "a")
	var next time.Time
	for l.created["a-r1"] == 0 {
		next = l.look()
		l.grant()
	}
	if next.IsZero() || next.After(l.now.Add(creationQuiet)) {
		t.Errorf("whatever happens it is looked at again at %v, created at %v", next, l.now)
	}
	l.writes = nil
	l.runPods()
	created := l.now
	for l.now = created; l.now.Before(created.Add(creationQuiet)); l.now = l.now.Add(creationQuiet / 5) {
		after, err := l.act(l.jobs, "a")
		if err != nil || !l.now.Add(after).Equal(created.Add(creationQuiet)) {
			t.Errorf("%v after its creation it is looked at again after %v, %v", l.now.Sub(created), after, err)
		}
	}
	if n := l.writesOf("status BatchJob a"); n != 0 {
		t.Errorf("it was written %d times", n)
	}
	for range 3 {
		if _, err := l.act(l.jobs, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.writesOf("status BatchJob a"); n != 1 {
		t.Errorf("what has come of it took %d writes, want 1", n)
	}
	job := l.job("a")
	if run := job.Status.Runs[0]; job.Status.State != v1alpha1.BatchJobRunning || run.Application != l.children()[0].UID || run.Scheduled == nil {
		t.Errorf("%s: %+v", job.Status.State, run)
	}
}
