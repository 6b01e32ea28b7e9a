package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/observe"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// batchJobs is the controller of BatchJobs. What a cache says is enough to go on by, but
// not to give something away by: before slots are freed, a job is let go, or a run is
// called lost, all is read anew from the API server. Safe for concurrent use.
type batchJobs struct {
	client client.Client
	// cached may be behind; live is the API server.
	cached cacheReader
	live   *liveReader
	// releases are the ends of claims, written together for a Testbed: it is long, and
	// those who change it get into each other's way.
	releases callGroup[types.NamespacedName, release, struct{}]
	// written is what this controller has last written of each job, and resting are those
	// whose application it has just created.
	written   writes
	resting   rests
	creations creations
	children  *children
	trial     trial
	recorder  events.EventRecorder
	metrics   *metrics
	logger    *slog.Logger
	now       func() time.Time
}

// release is the end of a job's claim as it was seen.
type release struct {
	job, scheduling types.UID
	slots           []string
}

func newBatchJobs(c client.Client, cached, live client.Reader, mapper meta.RESTMapper, recorder events.EventRecorder, m *metrics, logger *slog.Logger) *batchJobs {
	r := &batchJobs{
		client: c, cached: cacheReader{cached}, live: newLiveReader(live), trial: trial{c, mapper}, recorder: recorder, metrics: m, logger: logger, now: time.Now,
	}
	r.releases.do = r.release
	return r
}

const (
	// tooSoon is when to look again after a write that came before the cache has caught up.
	tooSoon = 50 * time.Millisecond
	// tooLate is when to look again in any case after a write that the cache has yet to see.
	tooLate = time.Second
	// operatorPoll is how often to look for an operator, or a Testbed, that is missing.
	operatorPoll = 5 * time.Second
	// idleOperatorPoll is how often to look for the operator of a job that no Scheduling has.
	idleOperatorPoll = 30 * time.Second
	// maxPasses bounds the steps of one look: each is for something new that was learnt.
	maxPasses = 8
	// atRest is for how long a job whose application was just created is left alone: what the
	// API server, those who run it and its pods tell meanwhile is one write then, and those
	// whose applications have yet to be created come first.
	atRest = 250 * time.Millisecond
)

// Reconcile has a job make its next step. A cache that has yet to see what was last
// written of the job tells when it has.
func (r *batchJobs) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	if left := r.resting.left(q.NamespacedName, r.now()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	view, err := r.look(ctx, q.NamespacedName, r.cached)
	if view == nil || err != nil {
		if view == nil && err == nil {
			r.written.forget(q.NamespacedName)
			r.creations.forget(q.NamespacedName)
		}
		return reconcile.Result{}, err
	}
	if r.written.unseen(view.Job) {
		return reconcile.Result{RequeueAfter: tooLate}, nil
	}
	for range maxPasses {
		pass := &jobPass{batchJobs: r, view: view, now: r.now()}
		var done bool
		if view, done, err = pass.run(ctx); done || view == nil || err != nil {
			return pass.result(err, pass.now)
		}
	}
	return reconcile.Result{RequeueAfter: tooSoon}, nil
}

// jobPass is one step of a job under way.
type jobPass struct {
	*batchJobs
	alarm
	view *jobView
	now  time.Time
	// created is true once the application has been created in this step, gone once one that
	// was to be deleted has turned out not to be there.
	created, gone bool
}

// run makes the step. It returns the view to make the next one by, or that all is done.
func (p *jobPass) run(ctx context.Context) (next *jobView, done bool, err error) {
	v := p.view
	if err := p.request(ctx); err != nil {
		return nil, true, err
	}
	o, counts, err := v.Observed()
	if err != nil {
		return nil, true, err
	}
	job, actions := lifecycle.StepJob(o, p.now)
	if !v.live && (v.strange() || decisive(&o.Stored, &job, actions)) {
		next, err = p.look(ctx, client.ObjectKeyFromObject(v.Job), p.live)
		return next, next == nil, err
	}
	if p.checks(actions) && !v.checked {
		p.check(ctx)
		return v, false, nil
	}
	wrote, err := p.store(ctx, &job, counts, actions)
	if err != nil {
		return nil, true, err
	}
	orphans := v.orphans(&job)
	if !wrote && !v.live && (acts(actions) || len(orphans) > 0) {
		if current, err := p.current(ctx); err != nil || !current {
			p.wake(p.now.Add(tooSoon))
			return nil, true, err
		}
	}
	there := v.Child
	fault, err := p.act(ctx, actions)
	switch {
	case p.created: // which one it is is noted with what is known of it by then
		until := p.batchJobs.now().Add(atRest)
		p.resting.until(client.ObjectKeyFromObject(v.Job), until)
		p.wake(until)
	case fault != "" || v.Child != there: // what was created before is noted before it could be lost
		v.Fault = fault
		return v, false, err
	}
	if p.gone && !v.live {
		// The cache of a kind that is no more, as its operator was removed, keeps the last
		// objects that it has seen.
		next, err = p.look(ctx, client.ObjectKeyFromObject(v.Job), p.live)
		return next, next == nil, err
	}
	switch {
	case p.unavailable() && observe.Available(v.Job):
		p.wake(p.now.Add(idleOperatorPoll))
	case p.unavailable() || v.adrift:
		p.wake(p.now.Add(operatorPoll))
	}
	return nil, true, errors.Join(err, p.deletePods(ctx, orphans), v.trouble)
}

// request writes what the job is to be created with once its claim is seen, and once the
// API server has confirmed the claim: the cached one may be of a run that is over. One that
// was promised is its Scheduling's with that.
func (p *jobPass) request(ctx context.Context) error {
	v, status := p.view, &p.view.Job.Status
	if v.Claim == nil || v.strange() || status.CreationRequest != nil || v.Job.DeletionTimestamp != nil ||
		status.State != v1alpha1.BatchJobInQueue && v.promised == nil {
		return nil
	}
	tb := v.testbed
	if !v.live {
		var err error
		if tb, err = p.live.confirmed(ctx, v.testbed); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if v.Claim = observe.ClaimOf(tb, v.Job.UID); v.Claim == nil || v.strange() {
		return nil
	}
	if s := v.promised; s != nil {
		if v.Claim.SchedulingUID != s.UID {
			return nil
		}
		observe.Acquire(v.Job, s, p.now)
		v.Scheduling, v.promised = s, nil
	}
	status.CreationRequest = observe.Request(v.Job, tb, v.Claim)
	return nil
}

// decisive says whether a step gives something away: who is behind must not decide that.
func decisive(before, after *lifecycle.Job, actions []lifecycle.JobAction) bool {
	gives := slices.ContainsFunc(actions, func(a lifecycle.JobAction) bool {
		return a.Op == lifecycle.FreeSlots || a.Op == lifecycle.RemoveJobFinalizer
	})
	released := (before.State == lifecycle.Releasing) != (after.State == lifecycle.Releasing)
	dropped := before.SchedulingUID != after.SchedulingUID
	lost := false
	if before.Run() != nil && after.Run() == nil {
		reason := after.Runs[len(after.Runs)-1].Reason
		lost = reason == lifecycle.ReasonLost || strings.HasPrefix(reason, lifecycle.ReasonStalled)
	}
	return gives || released || dropped || lost
}

// acts says whether something is to be done beside looking again.
func acts(actions []lifecycle.JobAction) bool {
	return slices.ContainsFunc(actions, func(a lifecycle.JobAction) bool { return a.Op != lifecycle.WakeJob })
}

// current says whether the job is as the API server has it.
func (p *jobPass) current(ctx context.Context) (bool, error) {
	var job v1alpha1.BatchJob
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(p.view.Job), &job); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return job.ResourceVersion == p.view.Job.ResourceVersion, nil
}

// store writes the finalizer and the status before anything is done by them, and says
// whether there was something to write.
func (p *jobPass) store(ctx context.Context, next *lifecycle.Job, counts v1alpha1.PodCounts, actions []lifecycle.JobAction) (bool, error) {
	v, wrote := p.view, false
	for _, a := range actions {
		if a.Op != lifecycle.AddJobFinalizer {
			continue
		}
		status := v.Job.Status.DeepCopy() // the answer has the stored one
		if err := finalize(ctx, p.client, v.Job, v1alpha1.FinalizerApplication, controllerutil.AddFinalizer); err != nil {
			return false, err
		}
		v.Job.Status, wrote = *status, true
		p.written.note(v.Job)
	}
	status := v.Status(next, counts, p.now)
	if equality.Semantic.DeepEqual(&v.stored, status) {
		return wrote, nil
	}
	job := v.Job.DeepCopy()
	job.Status = *status
	if err := p.client.Status().Update(ctx, job); err != nil {
		p.metrics.statusWrites.WithLabelValues("BatchJob", result(err)).Inc()
		return false, err
	}
	p.metrics.statusWrites.WithLabelValues("BatchJob", result(nil)).Inc()
	p.written.note(job)
	p.tell(&v.stored, job)
	v.Job, v.stored = job, *job.Status.DeepCopy()
	return true, nil
}

// finalize adds or removes a finalizer, unless the object has changed.
func finalize(ctx context.Context, c client.Client, o client.Object, name string, change func(client.Object, string) bool) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok || !change(o, name) {
		return nil
	}
	return c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// result is how a write went, as a label.
func result(err error) string {
	switch {
	case err == nil:
		return "written"
	case apierrors.IsConflict(err):
		return "conflict"
	}
	return "failed"
}

// act does what the step asks for. A fault is why no application can be created.
func (p *jobPass) act(ctx context.Context, actions []lifecycle.JobAction) (fault string, err error) {
	for _, a := range actions {
		switch a.Op {
		case lifecycle.CreateApplication:
			fault, err = p.create(ctx)
		case lifecycle.DeleteApplication:
			err = p.deleteChild(ctx)
		case lifecycle.FreeSlots:
			err = p.freeSlots(ctx)
		case lifecycle.RemoveJobFinalizer:
			err = finalize(ctx, p.client, p.view.Job, v1alpha1.FinalizerApplication, controllerutil.RemoveFinalizer)
		case lifecycle.WakeJob:
			p.wake(a.At)
		}
		if fault != "" || err != nil {
			return fault, err
		}
	}
	if p.view.strange() {
		return "", p.freeSlots(ctx)
	}
	return "", nil
}

// deleteChild deletes the application that is there, and no other of its name.
func (p *jobPass) deleteChild(ctx context.Context) error {
	child := p.view.Child
	uid := child.GetUID()
	err := p.client.Delete(ctx, child.DeepCopy(), client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	p.gone = apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
	if p.gone {
		return nil
	}
	return err
}

// orphans are the pods that an application has left behind: nobody else might delete
// them.
func (v *jobView) orphans(job *lifecycle.Job) []*corev1.Pod {
	if v.Child != nil && v.Child.GetDeletionTimestamp() == nil {
		return nil
	}
	attempt := -1
	if run := job.Run(); run != nil {
		attempt = run.Attempt
	}
	var all []*corev1.Pod
	for i := range v.Pods {
		pod := &v.Pods[i]
		if observe.Live(pod) && pod.DeletionTimestamp == nil && observe.Attempt(pod) != attempt {
			all = append(all, pod)
		}
	}
	return all
}

func (p *jobPass) deletePods(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		uid := pod.UID
		if err := p.client.Delete(ctx, pod.DeepCopy(), client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return err
		}
		p.recorder.Eventf(p.view.Job, pod, corev1.EventTypeNormal, "DeletedPod", "DeletePod", "deleted pod %s, whose application is gone", pod.Name)
	}
	return nil
}

// freeSlots ends the job's claim as it was seen; another one is left alone.
func (p *jobPass) freeSlots(ctx context.Context) error {
	v := p.view
	if v.Claim == nil {
		return nil
	}
	_, err := p.releases.ask(ctx, client.ObjectKeyFromObject(v.testbed), release{v.Job.UID, v.Claim.SchedulingUID, v.Claim.Slots})
	return err
}

// release ends the claims of a Testbed as they were seen.
func (r *batchJobs) release(ctx context.Context, name types.NamespacedName, all []release) (struct{}, error) {
	return struct{}{}, updateTestbed(ctx, r.client, r.live, name, func(tb *v1alpha1.Testbed) bool {
		before := len(tb.Status.Claims)
		tb.Status.Claims = slices.DeleteFunc(tb.Status.Claims, func(c v1alpha1.Claim) bool {
			return slices.ContainsFunc(all, func(r release) bool {
				return r.job == c.BatchJobUID && r.scheduling == c.SchedulingUID && slices.Equal(r.slots, c.Slots)
			})
		})
		return len(tb.Status.Claims) < before
	})
}

// tell tells people, and counts, what has become of a job.
func (p *jobPass) tell(before *v1alpha1.BatchJobStatus, job *v1alpha1.BatchJob) {
	after := &job.Status
	if problem := turnedFalse(before.Conditions, after.Conditions, v1alpha1.BatchJobValid); problem != nil {
		p.recorder.Eventf(job, nil, corev1.EventTypeWarning, problem.Reason, "CheckApplication", "%s", note(problem.Message))
	}
	was, is := meta.FindStatusCondition(before.Conditions, v1alpha1.BatchJobOverridden), meta.FindStatusCondition(after.Conditions, v1alpha1.BatchJobOverridden)
	if is != nil && (was == nil || was.Message != is.Message) {
		p.recorder.Eventf(job, nil, corev1.EventTypeWarning, is.Reason, "CheckApplication", "%s", note(is.Message))
	}
	if run := endedRun(before, after); run != nil {
		p.metrics.runs.WithLabelValues(after.Application.Kind, string(run.Outcome)).Inc()
		kind := corev1.EventTypeNormal
		if run.Outcome == v1alpha1.Failed {
			kind = corev1.EventTypeWarning
		}
		p.recorder.Eventf(job, nil, kind, "Run"+string(run.Outcome), "Run", "run %d: %s", run.Attempt, note(cmp.Or(run.Reason, string(run.Outcome))))
	}
	if before.State != after.State {
		p.logger.Info("a job goes on", "job", job.Namespace+"/"+job.Name, "from", before.State, "to", after.State, "reason", after.Reason)
	}
}

// endedRun is the run that has ended since.
func endedRun(before, after *v1alpha1.BatchJobStatus) *v1alpha1.Run {
	n := len(after.Runs)
	if n == 0 || after.Runs[n-1].Outcome == "" || after.Application == nil {
		return nil
	}
	last := &after.Runs[n-1]
	if m := len(before.Runs); m > 0 && before.Runs[m-1].Attempt == last.Attempt && before.Runs[m-1].Outcome != "" {
		return nil
	}
	return last
}

// adapterOf is the adapter of a job; nil of one that its definition would have refused.
func adapterOf(job *v1alpha1.BatchJob) workload.Adapter {
	adapter, err := workload.Of(&job.Spec)
	if err != nil {
		return nil
	}
	return adapter
}
