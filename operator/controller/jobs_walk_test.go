package controller

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// behind reads each kind in an older state, as caches do, independently of each other.
type behind struct {
	l  *lab
	of map[string]client.Client
}

// kinds are those that are read.
var walkKinds = []string{"Testbed", "BatchJob", "Scheduling", "Job", "Pod"}

// catchUp refreshes one of the kinds, or all.
func (b *behind) catchUp(kinds ...string) {
	b.l.t.Helper()
	now := b.l.copy()
	for _, kind := range kinds {
		b.of[kind] = now
	}
}

func (b *behind) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return b.of[kindOf(o)].Get(ctx, key, o, opts...)
}

func (b *behind) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind := map[string]string{
		"*v1alpha1.TestbedList": "Testbed", "*v1alpha1.BatchJobList": "BatchJob", "*v1alpha1.SchedulingList": "Scheduling", "*v1.PodList": "Pod",
	}[fmt.Sprintf("%T", list)]
	return b.of[kind].List(ctx, list, opts...)
}

// copy returns a copy of the API server's objects.
func (l *lab) copy() client.Client {
	l.t.Helper()
	builder := labBuilder(l.api.Scheme())
	for _, list := range []client.ObjectList{&v1alpha1.TestbedList{}, &v1alpha1.BatchJobList{}, &v1alpha1.SchedulingList{}, &batchv1.JobList{}, &corev1.PodList{}} {
		l.must(l.api.List(l.t.Context(), list))
		l.must(meta.EachListItem(list, func(o runtime.Object) error {
			builder = builder.WithRuntimeObjects(o)
			return nil
		}))
	}
	return builder.Build()
}

// walk is a random walk.
type walk struct {
	*lab
	*rand.Rand
	caches *behind
	serial int
	// made holds all children ever created, by their owner's UID and their name.
	made map[string]types.UID
}

func (w *walk) oneOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[w.IntN(len(names))]
}

func (w *walk) jobNames() []string { return []string{"a", "b", "c", "d"} }

func (w *walk) schedulingNames() []string {
	var list v1alpha1.SchedulingList
	w.must(w.api.List(w.t.Context(), &list))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// arrive creates a Scheduling that wants some jobs.
func (w *walk) arrive() {
	w.serial++
	s := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", w.serial)}, Spec: v1alpha1.SchedulingSpec{
		Testbed: v1alpha1.TestbedReference{Name: "small"}, Priority: int32(w.IntN(3)), Exclusive: w.IntN(5) == 0,
	}}
	if w.IntN(3) == 0 {
		s.Spec.Confirm = v1alpha1.ConfirmEach
	}
	if w.IntN(4) == 0 {
		s.Spec.OnFailure = v1alpha1.OnFailureStop
	}
	if w.IntN(4) == 0 {
		ttl := int32(w.IntN(20))
		s.Spec.TTLSecondsAfterFinished = &ttl
	}
	if w.IntN(2) == 0 {
		for range 1 + w.IntN(4) {
			s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: w.oneOf(w.jobNames())})
		}
	} else {
		s.Spec.SlotBased = &v1alpha1.SlotBased{Mode: v1alpha1.Strict}
		if w.IntN(2) == 0 {
			s.Spec.SlotBased.Mode = v1alpha1.Relaxed
		}
		for _, i := range w.Perm(4)[:1+w.IntN(3)] {
			job := v1alpha1.SlotJob{Name: w.jobNames()[i]}
			for _, k := range w.Perm(4)[:1+w.IntN(2)] {
				job.Slots = append(job.Slots, v1alpha1.SlotIndex(k))
			}
			s.Spec.SlotBased.Jobs = append(s.Spec.SlotBased.Jobs, job)
		}
	}
	put(w.lab, s)
}

// meddle is an action of another client.
func (w *walk) meddle() {
	schedulings := w.schedulingNames()
	name, job := w.oneOf(schedulings), w.oneOf(w.jobNames())
	switch w.IntN(12) {
	case 0, 1, 2:
		if len(schedulings) < 4 {
			w.arrive()
		}
	case 3:
		if name != "" {
			remove[v1alpha1.Scheduling](w.lab, name)
		}
	case 4:
		if name != "" {
			amend(w.lab, name, func(s *v1alpha1.Scheduling) {
				if len(s.Spec.QueueBased) > 0 {
					s.Spec.QueueBased = append(s.Spec.QueueBased[w.IntN(len(s.Spec.QueueBased)):], v1alpha1.JobReference{Name: job})
				}
			})
		}
	case 5:
		if w.job(job) == nil {
			w.makeJob(job)
		} else if w.IntN(4) == 0 {
			remove[v1alpha1.BatchJob](w.lab, job)
		}
	case 6:
		for _, child := range w.children() {
			if w.noted(&child) && w.IntN(6) == 0 {
				remove[batchv1.Job](w.lab, child.Name)
			}
		}
	case 7, 8, 9, 10:
		for _, child := range w.children() {
			if !ended(&child) && child.Status.Active > 0 && w.IntN(3) == 0 {
				how := batchv1.JobComplete
				if w.IntN(3) == 0 {
					how = batchv1.JobFailed
				}
				w.finish(child.Name, how)
			}
		}
	case 11:
		if w.job(job) != nil {
			amend(w.lab, job, func(*v1alpha1.BatchJob) {})
		}
	}
}

// noted reports whether the job has recorded its child: one that is deleted before that is created
// again.
func (w *walk) noted(child *batchv1.Job) bool {
	job := w.job(child.OwnerReferences[0].Name)
	return job != nil && slices.ContainsFunc(job.Status.Runs, func(r v1alpha1.Run) bool { return r.Application == child.UID })
}

func (w *walk) makeJob(name string) {
	w.withJobs(name)
	amend(w.lab, name, func(j *v1alpha1.BatchJob) {
		j.Spec.Retry = v1alpha1.Retry{Limit: 1, Delay: &metav1.Duration{Duration: 3 * time.Second}}
	})
}

// step makes one random actor act, which may lag behind or be cut off.
func (w *walk) step() {
	chance := w.Uint32()
	w.fail = func(write string) error {
		h := fnv.New32a() // writes that are made at once come in any order
		fmt.Fprint(h, chance, write)
		switch h.Sum32() % 40 {
		case 0:
			return errBefore
		case 1:
			return errAfter
		case 2:
			return apierrors.NewConflict(schema.GroupResource{Resource: "any"}, write, errors.New("another was first"))
		}
		return nil
	}
	var err error
	switch w.IntN(10) {
	case 0:
		w.meddle()
	case 1:
		w.now = w.now.Add(time.Duration(w.IntN(2000)) * time.Millisecond)
	case 2:
		w.grant()
	case 3:
		w.runPods()
	case 4, 5:
		w.caches.catchUp(w.oneOf(walkKinds))
	case 6, 7:
		if name := w.oneOf(w.schedulingNames()); name != "" {
			_, err = w.act(w.schedulings, name)
		}
	case 8, 9:
		_, err = w.act(w.jobs, w.oneOf(w.jobNames()))
	}
	if lost(err) {
		w.forget()
	}
}

// forget restarts the controllers with fresh caches.
func (w *walk) forget() {
	w.restart()
	w.caches.catchUp(walkKinds...)
	w.jobs.cached, w.schedulings.cached = cacheReader{w.caches}, w.caches
}

// check checks the invariants.
func (w *walk) check() {
	w.t.Helper()
	owner := map[string]types.UID{}
	for _, c := range w.testbed().Status.Claims {
		for _, id := range c.Slots {
			if other, twice := owner[id]; twice {
				w.t.Fatalf("%s is claimed by %s and %s", id, other, c.BatchJobUID)
			}
			owner[id] = c.BatchJobUID
		}
	}
	in := map[string]string{}
	for _, p := range w.pods("") {
		id := p.Annotations[v1alpha1.AnnotationSlot]
		if !isLive(&p) {
			continue
		}
		if other, twice := in[id]; twice {
			w.t.Fatalf("%s and %s are in %s", other, p.Name, id)
		}
		in[id] = p.Name
		if uid := types.UID(p.Labels[v1alpha1.LabelBatchJobUID]); owner[id] != uid {
			w.t.Fatalf("%s of %s is in %s, which %q claims", p.Name, uid, id, owner[id])
		}
	}
	for _, name := range w.jobNames() {
		if job := w.job(name); job != nil && job.Status.ActiveScheduling != nil {
			if s := w.scheduling(job.Status.ActiveScheduling.Name); s == nil || s.UID != job.Status.ActiveScheduling.UID {
				w.t.Fatalf("%s is a Scheduling's that is gone", name)
			}
		}
	}
	live := map[types.UID]string{}
	for _, child := range w.children() {
		uid := child.OwnerReferences[0].UID
		if key := string(uid) + "/" + child.Name; w.made[key] == "" {
			w.made[key] = child.UID
		} else if w.made[key] != child.UID {
			w.t.Fatalf("%s was made twice", key)
		}
		if ended(&child) {
			continue
		}
		if other, twice := live[uid]; twice {
			w.t.Fatalf("%s and %s are both of %s", other, child.Name, uid)
		}
		live[uid] = child.Name
	}
}

// end settles everything, without lag or crashes.
func (w *walk) end() {
	w.t.Helper()
	w.fail = nil
	w.restart()
	for i := 0; len(w.schedulingNames()) > 0; i++ {
		if i == 20 {
			w.t.Fatalf("schedulings are left: %v", w.schedulingNames())
		}
		for _, child := range w.children() {
			if !ended(&child) && child.Status.Active > 0 {
				w.finish(child.Name, batchv1.JobComplete)
			}
		}
		w.settle()
		w.check()
		w.now = w.now.Add(5 * time.Second)
		for _, name := range w.schedulingNames() {
			if state := w.scheduling(name).Status.State; i > 10 || state == v1alpha1.SchedulingCompleted || state == v1alpha1.SchedulingFailed {
				remove[v1alpha1.Scheduling](w.lab, name)
			}
		}
	}
	w.settle()
	if tb := w.testbed(); len(tb.Status.Claims) > 0 || tb.Status.ExclusiveFor != "" || len(w.children()) > 0 {
		w.t.Errorf("left are claims %+v, exclusive for %q, %d children", tb.Status.Claims, tb.Status.ExclusiveFor, len(w.children()))
	}
	for _, name := range w.jobNames() {
		job := w.job(name)
		if job == nil {
			continue
		}
		if job.Status.State != v1alpha1.BatchJobReady && job.Status.State != "" || job.Status.ActiveScheduling != nil {
			w.t.Errorf("%s is %s", name, job.Status.State)
		}
		runs := job.Status.Runs
		if !slices.IsSortedFunc(runs, func(a, b v1alpha1.Run) int { return int(a.Attempt - b.Attempt) }) ||
			slices.ContainsFunc(runs, func(r v1alpha1.Run) bool { return r.Outcome == "" }) {
			w.t.Errorf("the runs of %s are %+v", name, runs)
		}
	}
	w.writes = nil
	w.look()
	if len(w.writes) > 0 {
		w.t.Errorf("what is at rest is written: %v", w.writes)
	}
}

// TestWalk lets Schedulings and jobs come and go, end and fail, under controllers whose caches lag
// independently, that crash during a write, or that run concurrently: no slot is ever claimed twice
// or has two pods, no pod is where its job has no claim, no job has two children, no child is
// created twice; and in the end all is free, and nothing more is written.
func TestWalk(t *testing.T) {
	seeds, steps := uint64(6), 400
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &walk{lab: newLab(t).withTestbed(2), Rand: rand.New(rand.NewPCG(seed, 20)), made: map[string]types.UID{}}
			w.caches = &behind{l: w.lab, of: map[string]client.Client{}}
			for _, name := range w.jobNames() {
				w.makeJob(name)
			}
			w.forget()
			for range steps {
				w.step()
				w.check()
			}
			w.end()
		})
	}
}
