package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// batchJobs is the controller of BatchJobs. It goes on by what the cache has, except where a
// step gives something away: before slots are freed, a job is released, or a run counts as
// lost, all is read from the API server. Safe for concurrent use.
type batchJobs struct {
	client client.Client
	// cached may be behind; live is the API server.
	cached cacheReader
	live   *liveReader
	// releases ends claims, those of one Testbed that wait together in one write: a Testbed
	// is long, and writes of it that overlap conflict.
	releases callGroup[types.NamespacedName, release, struct{}]
	// written are the jobs as this controller has written them last, and creations are the
	// applications that it has created last.
	written   writes
	creations memory[creation]
	children  *children
	trial     trial
	recorder  events.EventRecorder
	metrics   *metrics
	logger    *slog.Logger
	now       func() time.Time
}

// release is a claim that ends, as it was seen.
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
	// conflictDelay is when to look again after a conflict, or a decision that the cache is too old for.
	conflictDelay = 50 * time.Millisecond
	// staleDelay is when to look again at the latest after a write that the cache has yet to see.
	staleDelay = time.Second
	// operatorPoll is how often to look for an operator, or a Testbed, that is missing.
	operatorPoll = 5 * time.Second
	// idleOperatorPoll is how often to look for the operator of a job that no Scheduling has.
	idleOperatorPoll = 30 * time.Second
	// maxPasses bounds the steps of one look; each follows from something that the one before
	// has found out.
	maxPasses = 8
	// creationQuiet is how long a job is left alone after its application was created: what the
	// application and its pods come to meanwhile is one write, and jobs whose applications
	// have yet to be created come first.
	creationQuiet = 250 * time.Millisecond
)

// Reconcile makes a job's next step. A job that the cache has yet to see as it was written
// last is looked at again when the cache has seen it.
func (r *batchJobs) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	if left := r.creations.get(q.NamespacedName).quietUntil.Sub(r.now()); left > 0 {
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
		return reconcile.Result{RequeueAfter: staleDelay}, nil
	}
	for range maxPasses {
		pass := &jobPass{batchJobs: r, view: view, now: r.now()}
		var done bool
		if view, done, err = pass.run(ctx); done || view == nil || err != nil {
			return pass.result(err, pass.now)
		}
	}
	return reconcile.Result{RequeueAfter: conflictDelay}, nil
}

// jobPass is one step of a job.
type jobPass struct {
	*batchJobs
	alarm
	view *jobView
	now  time.Time
	// created is true once this step has created the application, gone once it has found that
	// one which was to be deleted is not there.
	created, gone bool
}

// run makes the step. It returns the view for the next step, or that there is no other.
func (p *jobPass) run(ctx context.Context) (next *jobView, done bool, err error) {
	v := p.view
	if err := p.request(ctx); err != nil {
		return nil, true, err
	}
	o, counts, err := v.observe()
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
	wrote, err := p.store(ctx, &job, &o, counts, actions)
	if err != nil {
		return nil, true, err
	}
	orphans := v.orphans(&job)
	if !wrote && !v.live && (acts(actions) || len(orphans) > 0) {
		if current, err := p.current(ctx); err != nil || !current {
			p.wake(p.now.Add(conflictDelay))
			return nil, true, err
		}
	}
	there := v.Child
	fault, err := p.act(ctx, actions)
	switch {
	case p.created: // its UID is stored with what is known of it by then
		p.wake(p.creations.get(client.ObjectKeyFromObject(v.Job)).quietUntil)
	case fault != "" || v.Child != there: // an application of an earlier try: its UID is stored at once
		v.Fault = fault
		return v, false, err
	}
	if p.gone && !v.live {
		// The cache of a kind whose definition was removed keeps the objects that it saw last.
		next, err = p.look(ctx, client.ObjectKeyFromObject(v.Job), p.live)
		return next, next == nil, err
	}
	switch {
	case p.unavailable() && isAvailable(v.Job):
		p.wake(p.now.Add(idleOperatorPoll))
	case p.unavailable() || v.adrift:
		p.wake(p.now.Add(operatorPoll))
	}
	return nil, true, errors.Join(err, p.deletePods(ctx, orphans), v.trouble)
}

// request sets what the job is created with once its claim is seen, and the API server has
// confirmed it: a cached claim may be of a run that is over. A reserved job becomes its
// Scheduling's with the same write.
func (p *jobPass) request(ctx context.Context) error {
	v, status := p.view, &p.view.Job.Status
	if v.Claim == nil || v.strange() || status.CreationRequest != nil || v.Job.DeletionTimestamp != nil ||
		status.State != v1alpha1.BatchJobInQueue && v.reserver == nil {
		return nil
	}
	tb := v.testbed
	if !v.live {
		var err error
		if tb, err = p.live.testbed(ctx, client.ObjectKeyFromObject(v.testbed)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if v.Claim = claimOfJob(tb, v.Job.UID); v.Claim == nil || v.strange() {
		return nil
	}
	if s := v.reserver; s != nil {
		if v.Claim.SchedulingUID != s.UID {
			return nil
		}
		acquireJob(v.Job, s, p.now)
		v.Scheduling, v.reserver = s, nil
	}
	status.CreationRequest = requestOf(v.Job, tb, v.Claim)
	return nil
}

// decisive reports whether a step gives something away; such steps are not made by the cache.
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

// acts reports whether there is something to do beside looking again.
func acts(actions []lifecycle.JobAction) bool {
	return slices.ContainsFunc(actions, func(a lifecycle.JobAction) bool { return a.Op != lifecycle.WakeJob })
}

// current reports whether the job is as the API server has it.
func (p *jobPass) current(ctx context.Context) (bool, error) {
	var job v1alpha1.BatchJob
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(p.view.Job), &job); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return job.ResourceVersion == p.view.Job.ResourceVersion, nil
}
