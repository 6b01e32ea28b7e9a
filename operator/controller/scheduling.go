package controller

import (
	"context"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// schedulings is the controller of Schedulings. Which Scheduling gets jobs is decided over all
// that want one of them, and the decision is written before the next one about the same jobs.
// Safe for concurrent use.
type schedulings struct {
	client       client.Client
	cached, live client.Reader
	trial        trial
	locks        jobLocks
	// written are the jobs as this controller has written them last.
	written writes
	// known is what is remembered of Schedulings.
	known    memory[schedulingMemory]
	recorder events.EventRecorder
	metrics  *metrics
	logger   *slog.Logger
	now      func() time.Time
}

// Reconcile makes a Scheduling's next step.
func (r *schedulings) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	s := &v1alpha1.Scheduling{}
	if err := r.cached.Get(ctx, q.NamespacedName, s); err != nil {
		if apierrors.IsNotFound(err) {
			r.known.forget(q.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	known := r.known.get(q.NamespacedName)
	if known.written.isNewerThan(s) {
		return reconcile.Result{RequeueAfter: staleDelay}, nil
	}
	pass := &schedulingPass{schedulings: r, now: r.now()}
	if left := known.quietUntil.Sub(pass.now); left > 0 && s.DeletionTimestamp == nil && s.Generation == s.Status.ObservedGeneration {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return pass.result(pass.run(ctx, s), pass.now)
}

// schedulingPass is one step of a Scheduling.
type schedulingPass struct {
	*schedulings
	alarm
	now time.Time
}

// candidate is a Scheduling with what was found out about it.
type candidate struct {
	schedulingView
	observed lifecycle.SchedulingObserved
	feasible finding
}

// run makes the step. From the decision about jobs that the Scheduling lacks until what follows
// from it is written, no other worker decides about them.
func (p *schedulingPass) run(ctx context.Context, s *v1alpha1.Scheduling) error {
	c, err := p.candidate(ctx, s)
	if err != nil {
		return err
	}
	lacking := c.observed.Lacking()
	if !p.locks.tryLock(lacking) {
		return errBehind
	}
	defer p.locks.unlock(lacking)
	if c.Turn, err = p.turn(ctx, c, lacking); err != nil {
		return err
	}
	began := p.reserve(ctx, c, lacking)
	c.observed.Turn = c.Turn
	next, actions := lifecycle.StepScheduling(c.observed, p.now)
	if c.Reserves { // a job that is deleted before it is taken, while others begin, is not waited for
		next.Acquired = slices.SortedFunc(slices.Values(jobNames(s)), testbed.Name.Compare)
	}
	if err := p.store(ctx, c, &next, actions); err != nil {
		return err
	}
	for _, a := range actions {
		if began && a.Op == lifecycle.AcquireJobs {
			p.rest(s) // jobs that get no slots meanwhile are taken without
			continue
		}
		if err := p.act(ctx, c, a); err != nil {
			return err
		}
	}
	if c.feasible.Reason == v1alpha1.ReasonNotAllowed {
		p.wake(p.now.Add(consentPoll))
	}
	return p.rollback(ctx, c, &next)
}

// consentPoll is how often to look for the labels that a namespace lacks; namespaces are not
// watched.
const consentPoll = 30 * time.Second

// candidate finds out all that a step of the Scheduling depends on, except its turn.
func (p *schedulingPass) candidate(ctx context.Context, s *v1alpha1.Scheduling) (*candidate, error) {
	c := &candidate{}
	c.Scheduling = s
	tb := &v1alpha1.Testbed{}
	switch err := p.cached.Get(ctx, s.TestbedKey(), tb, client.UnsafeDisableDeepCopy); {
	case err == nil:
		c.Testbed = tb
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	jobs, err := p.jobs(ctx, s)
	if err != nil {
		return nil, err
	}
	c.Job = func(name types.NamespacedName) *v1alpha1.BatchJob { return jobs[name] }
	var held v1alpha1.BatchJobList
	if err := p.cached.List(ctx, &held, client.MatchingFields{jobScheduling: string(s.UID)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	c.Holds = len(held.Items)
	if s.DeletionTimestamp != nil { // it must not be gone before them
		c.Holds += p.coming(ctx, s, c.Testbed)
	}
	if c.observed, err = c.observe(p.now); err != nil {
		return nil, err
	}
	var failed error
	c.feasible = c.feasibility(&c.observed, func(own string, consent *v1alpha1.AllowedNamespaces) (bool, string) {
		ok, err := allowed(ctx, p.cached, consent, own, s.Namespace)
		if err != nil {
			failed = err
		}
		return ok, "does not admit Schedulings of namespace " + s.Namespace
	})
	return c, failed
}

// jobs are those that a Scheduling lists and that are there. They are the cache's own:
// not to be modified.
func (p *schedulingPass) jobs(ctx context.Context, s *v1alpha1.Scheduling) (map[types.NamespacedName]*v1alpha1.BatchJob, error) {
	all := make(map[types.NamespacedName]*v1alpha1.BatchJob)
	for _, name := range jobNames(s) {
		job := &v1alpha1.BatchJob{}
		err := p.cached.Get(ctx, keyOf(name), job, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			all[keyOf(name)] = job
		}
	}
	return all, nil
}

// store writes the finalizer and the status before anything is done by them.
func (p *schedulingPass) store(ctx context.Context, c *candidate, next *lifecycle.Scheduling, actions []lifecycle.SchedulingAction) error {
	s := c.Scheduling
	before := s.Status.DeepCopy()
	for _, a := range actions {
		if a.Op != lifecycle.AddSchedulingFinalizer {
			continue
		}
		if err := finalize(ctx, p.client, s, v1alpha1.FinalizerJobs, controllerutil.AddFinalizer); err != nil {
			return err
		}
	}
	status := c.nextStatus(next, &c.observed, c.feasible, p.now)
	if equality.Semantic.DeepEqual(before, status) {
		return nil
	}
	s.Status = *status
	if err := p.client.Status().Update(ctx, s); err != nil {
		return err
	}
	known := p.known.get(client.ObjectKeyFromObject(s))
	known.written = versionOf(s)
	p.known.set(client.ObjectKeyFromObject(s), known)
	p.report(before, s)
	if len(c.observed.Lacking()) == 0 {
		p.rest(s)
	}
	return nil
}

// rest leaves a Scheduling alone for a while, in which its jobs go on.
func (p *schedulingPass) rest(s *v1alpha1.Scheduling) {
	known := p.known.get(client.ObjectKeyFromObject(s))
	known.quietUntil = p.schedulings.now().Add(jobsQuiet)
	p.known.set(client.ObjectKeyFromObject(s), known)
	p.wake(known.quietUntil)
}

func (p *schedulingPass) act(ctx context.Context, c *candidate, a lifecycle.SchedulingAction) error {
	s := c.Scheduling
	switch a.Op {
	case lifecycle.AcquireJobs:
		return p.acquire(ctx, c, a.Jobs)
	case lifecycle.Unlock:
		return updateTestbed(ctx, p.client, p.live, s.TestbedKey(), func(tb *v1alpha1.Testbed) bool {
			had := tb.Status.ExclusiveFor == s.UID
			if had {
				tb.Status.ExclusiveFor = ""
			}
			return had
		})
	case lifecycle.DeleteScheduling:
		return p.client.Delete(ctx, s.DeepCopy(), client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
	case lifecycle.RemoveSchedulingFinalizer:
		return client.IgnoreNotFound(finalize(ctx, p.client, s, v1alpha1.FinalizerJobs, controllerutil.RemoveFinalizer))
	case lifecycle.WakeScheduling:
		p.wake(a.At)
	}
	return nil
}

// report reports and measures what a Scheduling has come to.
func (p *schedulingPass) report(before *v1alpha1.SchedulingStatus, s *v1alpha1.Scheduling) {
	for _, kind := range []string{v1alpha1.SchedulingFeasible, v1alpha1.SchedulingSpecAccepted} {
		if problem := turnedFalse(before.Conditions, s.Status.Conditions, kind); problem != nil {
			p.recorder.Eventf(s, nil, corev1.EventTypeWarning, problem.Reason, "Schedule", "%s", note(problem.Message))
		}
	}
	if before.State == s.Status.State {
		return
	}
	switch s.Status.State {
	case v1alpha1.SchedulingFailed:
		p.recorder.Eventf(s, nil, corev1.EventTypeWarning, "Failed", "Schedule", "a job has failed: nothing more is submitted; %s", note(s.Status.Reason))
	case v1alpha1.SchedulingCompleted:
		if s.Status.Reason != "" {
			p.recorder.Eventf(s, nil, corev1.EventTypeWarning, "Completed", "Schedule", "%s", note(s.Status.Reason))
			break
		}
		p.recorder.Eventf(s, nil, corev1.EventTypeNormal, "Completed", "Schedule", "all jobs have ended")
	}
	known := p.known.get(client.ObjectKeyFromObject(s))
	if known.state == s.UID && before.State != "" {
		p.metrics.schedulingSeconds.WithLabelValues(string(before.State)).Observe(p.now.Sub(known.since).Seconds())
	}
	known.state, known.since = s.UID, p.now
	p.known.set(client.ObjectKeyFromObject(s), known)
	p.logger.Info("a scheduling changed its state", "scheduling", s.Namespace+"/"+s.Name, "from", before.State, "to", s.Status.State)
}
