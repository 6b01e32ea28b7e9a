package controller

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
)

// writesOf returns the writes of a kind.
func (l *lab) writesOf(write string) (n int) {
	for _, w := range l.writes {
		if w == write {
			n++
		}
	}
	return n
}

// unreserved advances the clock past the time for which a Scheduling waits for slots before it
// takes its jobs without.
func (l *lab) unreserved() { l.now = l.now.Add(jobsQuiet) }

// A job that is taken and gets no slots is tried and queued with one write, and waits for slots
// without further ones.
func TestTakenWithOneWrite(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b")
	l.look() // finalizers
	l.withQueue("s", "a", "b")
	l.writes = nil
	for range 3 {
		l.look()
		l.unreserved()
	}
	for _, name := range []string{"a", "b"} {
		job := l.job(name)
		status := &job.Status
		if status.State != v1alpha1.BatchJobInQueue || status.ActiveScheduling == nil || status.ActiveScheduling.UID != l.scheduling("s").UID ||
			!meta.IsStatusConditionTrue(status.Conditions, v1alpha1.BatchJobValid) || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.BatchJobAcquired) {
			t.Errorf("%s is %+v", name, status)
		}
		if n := l.writesOf("status BatchJob " + name); n != 1 {
			t.Errorf("%s was written %d times, want 1: %q", name, n, l.writes)
		}
	}
}

// A job's own controller reports the result of its application's trial: the job is taken whatever
// the result is.
func TestTakenUntried(t *testing.T) {
	plain := v1alpha1.BatchJobSpec{JobSpec: &runtime.RawExtension{Raw: []byte(`{}`)}}
	for name, c := range map[string]struct {
		spec   v1alpha1.BatchJobSpec
		answer error
	}{
		"refused":          {plain, apierrors.NewBadRequest("no")},
		"unsaid":           {plain, errors.New("the API server is not well")},
		"operator missing": {v1alpha1.BatchJobSpec{SparkSpec: &runtime.RawExtension{Raw: []byte(`{}`)}}, nil},
	} {
		l := newLab(t).withTestbed(1)
		put(l, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: c.spec})
		l.trial = func(*unstructured.Unstructured) error { return c.answer }
		l.look()
		l.withQueue("s", "a")
		if _, err := l.act(l.schedulings, "s"); err != nil {
			t.Fatal(err)
		}
		status := &l.job("a").Status
		valid := meta.FindStatusCondition(status.Conditions, v1alpha1.BatchJobValid)
		if status.ActiveScheduling == nil || status.State != v1alpha1.BatchJobReady || valid == nil || valid.Status != metav1.ConditionUnknown {
			t.Errorf("%s: %+v", name, status)
		}
	}
}

// An application is tried once, when its job is created or edited, and not when a Scheduling waits
// for it; whether it fits the slots is checked each time.
func TestTriedBeforeTaken(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a")
	tried := 0
	l.trial = func(child *unstructured.Unstructured) error {
		tried++
		if child.GetName() != "a-r1" {
			t.Errorf("%s is tried", child.GetName())
		}
		return nil
	}
	valid := func() string {
		c := meta.FindStatusCondition(l.job("a").Status.Conditions, v1alpha1.BatchJobValid)
		if c == nil {
			return "nothing"
		}
		return string(c.Status) + " " + c.Reason
	}
	l.settle()
	if l.want("there", "True Accepted", valid()); tried != 1 {
		t.Errorf("a job that is there was tried %d times", tried)
	}
	amend(l, "a", func(j *v1alpha1.BatchJob) { j.Spec.JobSpec.Raw = []byte(`{"template":[]}`) })
	l.settle()
	if l.want("broken", "False InvalidApplication", valid()); tried != 1 {
		t.Errorf("of what no application can be made %d were tried", tried-1)
	}
	amend(l, "a", func(j *v1alpha1.BatchJob) {
		j.Spec.JobSpec.Raw = []byte(`{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"3"}}}]}}}`)
	})
	l.settle()
	if l.want("mended", "True Accepted", valid()); tried != 2 {
		t.Errorf("a job that was edited was tried %d times", tried-1)
	}
	amend(l, "a", func(j *v1alpha1.BatchJob) { j.Spec.JobSpec.Raw = append(j.Spec.JobSpec.Raw, ' ') })
	l.settle()
	if l.want("edited", "True Accepted", valid()); tried != 3 {
		t.Errorf("a job that was accepted and edited was tried %d times", tried-2)
	}
	amend(l, "small", func(tb *v1alpha1.Testbed) {
		tb.Spec.ResourcesPerSlot = corev1.ResourceList{"cpu": resource.MustParse("2")}
	})
	l.withQueue("s", "a").settle()
	l.want("too large", "a Failed, s Completed", l.states("s", "a"))
	l.want("too large", "False "+v1alpha1.ReasonSlotTooSmall, valid())
	if runs := l.job("a").Status.Runs; len(runs) > 0 || len(l.testbed().Status.Claims) > 0 {
		t.Errorf("one that is too large has had slots: %+v", runs)
	}
	remove[v1alpha1.Scheduling](l, "s")
	amend(l, "small", func(tb *v1alpha1.Testbed) {
		tb.Spec.ResourcesPerSlot = corev1.ResourceList{"cpu": resource.MustParse("4")}
	})
	l.settle()
	l.withQueue("next", "a").settle()
	if l.want("large enough", "a Running, next AwaitingCompletion", l.states("next", "a")); tried != 4 {
		t.Errorf("one that was refused was tried %d times", tried-3)
	}
	remove[v1alpha1.Scheduling](l, "next")
	l.settle()
	l.trial = func(child *unstructured.Unstructured) error {
		t.Errorf("%s, which was accepted, is tried again", child.GetName())
		return nil
	}
	l.withQueue("last", "a").settle()
	l.want("again", "a Running, last AwaitingCompletion", l.states("last", "a"))
}

// A trial without a result is not repeated while no Scheduling has the job; it is once one has.
func TestDraftSaysNothing(t *testing.T) {
	for what, spec := range map[string]v1alpha1.BatchJobSpec{
		"no answer": {JobSpec: &runtime.RawExtension{Raw: []byte(`{"template":{"spec":{"containers":[{"name":"main"}]}}}`)}},
	} {
		l := newLab(t).withTestbed(1)
		put(l, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: spec})
		l.trial = func(*unstructured.Unstructured) error { return apierrors.NewInternalError(errors.New("it starts")) }
		for range 3 {
			if _, err := l.act(l.jobs, "a"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if c := meta.FindStatusCondition(l.job("a").Status.Conditions, v1alpha1.BatchJobValid); c != nil {
			t.Errorf("%s: %+v", what, c)
		}
		l.trial = nil
		l.kinds.Add(sparkKind, meta.RESTScopeNamespace)
		l.withQueue("s", "a").settle()
		if job := l.job("a"); !meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.BatchJobValid) || len(job.Status.Runs) != 1 {
			t.Errorf("%s: %+v", what, job.Status)
		}
	}
}

// A job that cannot be read does not keep others from being taken.
func TestTakenUnread(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b")
	l.look()
	broken := l.job("a")
	broken.Status.Runs = []v1alpha1.Run{{Attempt: 1, Slots: []string{"no slot"}, Outcome: v1alpha1.Failed}}
	l.must(l.api.Status().Update(t.Context(), broken))
	l.withQueue("s", "a", "b")
	for range 2 {
		l.mustAct(l.schedulings, "s")
		l.unreserved()
	}
	for name, want := range map[string]v1alpha1.BatchJobState{"a": v1alpha1.BatchJobReady, "b": v1alpha1.BatchJobInQueue} {
		if status := &l.job(name).Status; status.ActiveScheduling == nil || status.State != want {
			t.Errorf("%s is %+v", name, status)
		}
	}
}

// A job that others have written since the cache saw it is taken in its present state.
func TestTakenAfterConflict(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a")
	l.look()
	l.withQueue("s", "a")
	caches := &behind{l, map[string]client.Client{}}
	caches.catchUp("Testbed", "BatchJob", "Scheduling")
	l.schedulings.cached = caches
	job := l.job("a")
	job.Labels = map[string]string{"written": "since"}
	l.must(l.api.Update(t.Context(), job))
	// The API server's client decodes an answer into the present object, the fake one does not.
	l.schedulings.live = interceptor.NewClient(l.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			answer, _ := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
			if err := c.Get(ctx, key, answer, opts...); err != nil {
				return err
			}
			text, err := json.Marshal(answer)
			if err != nil {
				return err
			}
			return json.Unmarshal(text, o)
		},
	})
	for range 2 { // the first is the finalizer, and the reservation
		l.mustAct(l.schedulings, "s")
		caches.catchUp("Scheduling")
		l.unreserved()
	}
	if status := &l.job("a").Status; status.ActiveScheduling == nil || status.State != v1alpha1.BatchJobInQueue {
		t.Errorf("a is %+v", status)
	}
}

// Recorded writes of jobs are forgotten when the jobs are gone.
func TestTakenIsForgotten(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b")
	l.look()
	l.withQueue("s", "a", "b")
	l.look()
	if n := len(l.schedulings.known.of); n != 1 {
		t.Errorf("%d Schedulings are remembered, want 1", n)
	}
	l.unreserved()
	l.look()
	if n := len(l.schedulings.written.of); n != 2 {
		t.Fatalf("%d writes are remembered, want 2", n)
	}
	if n := len(l.schedulings.locks.locked); n != 0 {
		t.Errorf("%d jobs are still locked", n)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	for _, name := range []string{"a", "b"} {
		l.schedulings.jobChanged(t.Context(), l.job(name), nil, queue)
	}
	if n := len(l.schedulings.written.of); n != 0 {
		t.Errorf("%d writes of jobs that are gone are remembered", n)
	}
	l.must(l.api.Delete(t.Context(), l.scheduling("s")))
	s := l.scheduling("s")
	s.Finalizers = nil
	l.must(l.api.Update(t.Context(), s))
	l.mustAct(l.schedulings, "s")
	if n := len(l.schedulings.known.of); n != 0 {
		t.Errorf("%d Schedulings that are gone are remembered", n)
	}
}

// A Scheduling whose cache lags behind another's writes ends with all its jobs or none.
func TestTakenFromBehind(t *testing.T) {
	l := newLab(t).withTestbed(1).withJobs("a", "b") // which are not tried yet, so that nothing is reserved
	l.withQueue("t", "b")
	caches := &behind{l, map[string]client.Client{}}
	caches.catchUp("BatchJob")
	l.mustAct(l.schedulings, "t")
	holder := l.job("b").Status.ActiveScheduling
	if holder == nil || holder.Name != "t" {
		t.Fatalf("b is %+v's", holder)
	}
	l.withQueue("s", "a", "b")
	caches.catchUp("Testbed", "Scheduling")
	l.schedulings = &schedulings{
		client: l.api, cached: caches, live: l.api, trial: trial{l.api, l.kinds}, recorder: l.recorded,
		metrics: l.metrics, logger: l.schedulings.logger, now: l.schedulings.now,
	}
	if after, err := l.act(l.schedulings, "s"); err != nil || after == 0 {
		t.Errorf("it does not come again: %v, %v", after, err)
	}
	if holder := l.job("a").Status.ActiveScheduling; holder == nil || holder.Name != "s" {
		t.Fatalf("a is %+v's", holder)
	}
	if holder := l.job("b").Status.ActiveScheduling; holder == nil || holder.Name != "t" {
		t.Errorf("b was taken from t, and is %+v's", holder)
	}
	l.restart()
	for range 4 {
		l.look()
		l.unreserved()
	}
	if holder := l.job("a").Status.ActiveScheduling; holder != nil {
		t.Errorf("a is kept by %s, which waits for b", holder.Name)
	}
}

// Of Schedulings that want the same job, the one that comes while the other takes it is requeued;
// one that wants other jobs does not wait.
func TestTakenByTwoAtOnce(t *testing.T) {
	l := newLab(t).withTestbed(2).withJobs("a", "b", "c") // which are not tried yet, so that nothing is reserved
	l.withQueue("s", "a", "b").withQueue("t", "b").withQueue("u", "c")
	inside := func() {
		for name, want := range map[string]bool{"t": false, "u": true} {
			after, err := l.act(l.schedulings, name)
			if err != nil {
				t.Fatal(err)
			}
			job := map[string]string{"t": "b", "u": "c"}[name]
			if holder := l.job(job).Status.ActiveScheduling; (holder != nil && holder.Name == name) != want {
				t.Errorf("%s is %+v's", job, holder)
			}
			if !want && after == 0 {
				t.Errorf("%s does not come again", name)
			}
		}
	}
	l.schedulings.live = interceptor.NewClient(l.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.Scheduling); ok && key.Name == "s" && inside != nil {
				f := inside
				inside = nil
				f()
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	l.schedulings.cached = only{l.schedulings.cached, "t"}
	if _, err := l.act(l.schedulings, "s"); err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{"a", "b"} {
		if holder := l.job(job).Status.ActiveScheduling; holder == nil || holder.Name != "s" {
			t.Errorf("%s is %+v's", job, holder)
		}
	}
}

// only is a cache that does not list the other Schedulings yet while that of the name is
// reconciled, so that it believes it is the first.
type only struct {
	client.Reader
	name string
}

func (o only) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := o.Reader.List(ctx, list, opts...)
	if of, ok := list.(*v1alpha1.SchedulingList); ok {
		of.Items = slices.DeleteFunc(of.Items, func(s v1alpha1.Scheduling) bool { return s.Name != o.name })
	}
	return err
}

// Jobs are locked all or none.
func TestJobLocks(t *testing.T) {
	var l jobLocks
	a, b, c := testbed.Name{Name: "a"}, testbed.Name{Name: "b"}, testbed.Name{Name: "c"}
	steps := []struct {
		lock, unlock []testbed.Name
		want         bool
	}{
		{lock: []testbed.Name{a, b}, want: true},
		{lock: []testbed.Name{c, b}},
		{lock: []testbed.Name{c}, want: true}, // the step before has locked nothing
		{unlock: []testbed.Name{a, b}},
		{lock: []testbed.Name{b}, want: true},
		{lock: []testbed.Name{c}},
	}
	for i, step := range steps {
		if step.unlock != nil {
			l.unlock(step.unlock)
		} else if got := l.tryLock(step.lock); got != step.want {
			t.Errorf("step %d: locked %v, want %v", i, got, step.want)
		}
	}
}
