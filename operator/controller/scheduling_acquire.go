package controller

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/observe"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// turn says whether it is the Scheduling's turn to have the jobs that it lacks. It is
// decided over all that want one of them; others' wishes are none of its business. errBehind says
// that the cache has yet to see what was last decided of one of these.
func (p *schedulingPass) turn(ctx context.Context, c *candidate) (bool, error) {
	lacking := c.observed.Lacking()
	if len(lacking) == 0 || !c.feasible.OK() {
		return false, nil
	}
	applicants := []claim.Applicant{observe.Applicant(c.Scheduling, &c.observed)}
	rivals, err := p.rivals(ctx, c.Scheduling, lacking)
	if err != nil {
		return false, err
	}
	for _, s := range rivals {
		if p.told.unseen(s) {
			return false, errBehind
		}
		rival, err := p.candidate(ctx, s)
		if err != nil {
			return false, err
		}
		// One whose jobs are not all there, or which may not have them, waits without
		// keeping others waiting.
		if len(rival.observed.Lacking()) > 0 && rival.feasible.OK() {
			applicants = append(applicants, observe.Applicant(s, &rival.observed))
		}
	}
	granted := claim.Acquire(applicants, func(name testbed.Name) bool { return observe.Available(c.Job(observe.Key(name))) })
	first := slices.MinFunc(applicants, func(a, b claim.Applicant) int { return a.Compare(b.Precedence) })
	if c.Before = (testbed.Name{}); first.Name != applicants[0].Name {
		c.Before = first.Name
	}
	return granted[0], nil
}

// errBehind says that nothing can be decided yet.
var errBehind = errors.New("the cache is behind what was written")

// promise decides whether the jobs are to be given slots before the Scheduling has them,
// which saves a write of each: c.Promised says that it is so, and promising that it is from
// now on. Nobody else takes the jobs until letGo is called.
func (p *schedulingPass) promise(ctx context.Context, c *candidate) (promising bool, letGo func(), err error) {
	names, nothing := c.observed.Lacking(), func() {}
	if !c.Turn || !c.observed.Stored.Started.IsZero() || c.Scheduling.Spec.Exclusive {
		return false, nothing, nil
	}
	if observe.Promised(c.Scheduling) {
		c.Promised = true
		return false, nothing, nil
	}
	if !p.promisable(ctx, c, names) || !p.taking.take(names) {
		return false, nothing, nil
	}
	letGo = func() { p.taking.letGo(names) }
	if slices.ContainsFunc(names, func(name testbed.Name) bool { return p.written.unseen(c.Job(observe.Key(name))) }) {
		return false, letGo, nil
	}
	// Somebody else may have been promised one of them since.
	c.Turn, err = p.turn(ctx, c)
	c.Promised = c.Turn
	return c.Turn, letGo, err
}

// promisable says that nothing is known against any of the jobs: one that is not to have
// slots must not get them.
func (p *schedulingPass) promisable(ctx context.Context, c *candidate, names []testbed.Name) bool {
	return !slices.ContainsFunc(names, func(name testbed.Name) bool {
		job := c.Job(observe.Key(name))
		if !observe.Available(job) || !observe.Accepted(job) {
			return true
		}
		verdict, err := p.trial.of(ctx, job, c.Scheduling, c.Testbed)
		return err != nil || !verdict.OK()
	})
}

// rivals are the other Schedulings that list one of the jobs.
func (p *schedulingPass) rivals(ctx context.Context, s *v1alpha1.Scheduling, jobs []testbed.Name) ([]*v1alpha1.Scheduling, error) {
	var all []*v1alpha1.Scheduling
	seen := map[client.ObjectKey]bool{client.ObjectKeyFromObject(s): true}
	for _, job := range jobs {
		var listed v1alpha1.SchedulingList
		if err := p.cached.List(ctx, &listed, client.MatchingFields{schedulingJob: job.String()}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for i := range listed.Items {
			if rival := &listed.Items[i]; !seen[client.ObjectKeyFromObject(rival)] {
				seen[client.ObjectKeyFromObject(rival)] = true
				all = append(all, rival)
			}
		}
	}
	return all, nil
}

// acquire makes the Scheduling the active one of all the jobs, as the cache has them: the
// API server refuses to write one that has changed since. Should somebody else have one of
// them by then, what was taken is given back.
func (p *schedulingPass) acquire(ctx context.Context, c *candidate, names []testbed.Name) error {
	s := c.Scheduling
	names = slices.DeleteFunc(slices.Clone(names), func(name testbed.Name) bool { return comes(c, name) })
	if len(names) == 0 {
		p.rest(s)
		return nil
	}
	if !p.taking.take(names) {
		p.wake(p.now.Add(tooSoon))
		return nil
	}
	defer p.taking.letGo(names)
	if slices.ContainsFunc(names, func(name testbed.Name) bool { return p.written.unseen(c.Job(observe.Key(name))) }) {
		p.wake(p.now.Add(tooSoon))
		return nil
	}
	// Somebody else may have been promised one of them since it was decided.
	if turn, err := p.turn(ctx, c); err != nil || !turn {
		p.wake(p.now.Add(tooSoon))
		return err
	}
	var now v1alpha1.Scheduling
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(s), &now); err != nil {
		return err
	}
	if now.UID != s.UID || now.DeletionTimestamp != nil || now.Generation != s.Generation {
		p.wake(p.now.Add(tooSoon))
		return nil
	}
	err := eachAtOnce(len(names), func(i int) error { return p.take(ctx, c, c.Job(observe.Key(names[i])).DeepCopy()) })
	switch {
	case errors.Is(err, errHad):
		p.wake(p.now.Add(tooSoon))
		return nil
	case err == nil:
		p.rest(s)
	}
	return err
}

// comes says that a job has the claim by which it is the Scheduling's with its next write.
func comes(c *candidate, name testbed.Name) bool {
	job := c.Job(observe.Key(name))
	if !observe.PromisedTo(c.Scheduling, job) {
		return false
	}
	has := observe.ClaimOf(c.Testbed, job.UID)
	return has != nil && has.SchedulingUID == c.Scheduling.UID
}

// coming counts the jobs that nobody has and that have claims for the Scheduling: their own
// controller may be about to take them by these, and ends what is left of them.
func (p *schedulingPass) coming(ctx context.Context, s *v1alpha1.Scheduling, tb *v1alpha1.Testbed) (n int) {
	if tb == nil {
		return 0
	}
	for i := range tb.Status.Claims {
		has := &tb.Status.Claims[i]
		name, err := testbed.ParseName(has.BatchJob)
		if has.SchedulingUID != s.UID || err != nil {
			continue
		}
		job := &v1alpha1.BatchJob{}
		if err := p.cached.Get(ctx, observe.Key(name), job, client.UnsafeDisableDeepCopy); err == nil && job.UID == has.BatchJobUID && observe.Available(job) {
			n++
		}
	}
	return n
}

// inHand are jobs that one worker has to himself for the time being. Safe for concurrent
// use; the zero value has none.
type inHand struct {
	mu sync.Mutex
	of map[testbed.Name]bool
}

// take takes all the jobs, or none if somebody has one of them.
func (h *inHand) take(names []testbed.Name) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(names, func(name testbed.Name) bool { return h.of[name] }) {
		return false
	}
	if h.of == nil {
		h.of = make(map[testbed.Name]bool)
	}
	for _, name := range names {
		h.of[name] = true
	}
	return true
}

func (h *inHand) letGo(names []testbed.Name) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		delete(h.of, name)
	}
}

// errHad says that somebody else has a job which the cache says is to be had.
var errHad = errors.New("a job was had by another")

// take makes the Scheduling the active one of a job, however often others write between.
func (p *schedulingPass) take(ctx context.Context, c *candidate, job *v1alpha1.BatchJob) error {
	first := true
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !first {
			// Into another, for what an answer does not have stays in what it is read into.
			now := &v1alpha1.BatchJob{}
			if err := p.live.Get(ctx, client.ObjectKeyFromObject(job), now); err != nil {
				return err
			}
			job = now
		}
		first = false
		switch {
		case observe.Holds(c.Scheduling, job):
			return nil
		case !observe.Available(job):
			return errHad
		}
		before := job.Status.State
		p.enqueue(ctx, c, job)
		err := p.client.Status().Update(ctx, job)
		p.metrics.statusWrites.WithLabelValues("BatchJob", result(err)).Inc()
		if err != nil {
			return err
		}
		p.written.note(job)
		if before != job.Status.State {
			p.logger.Info("a job goes on", "job", job.Namespace+"/"+job.Name, "from", before, "to", job.Status.State, "reason", job.Status.Reason)
		}
		return nil
	})
}

// enqueue makes the Scheduling the job's active one and, if its application was tried and
// nothing is said against it, has the job make its step into the queue, which is to be
// written with that. All else is for the job's own controller to find and to tell.
func (p *schedulingPass) enqueue(ctx context.Context, c *candidate, job *v1alpha1.BatchJob) {
	observe.Acquire(job, c.Scheduling, p.now)
	verdict, err := p.trial.of(ctx, job, c.Scheduling, c.Testbed)
	if err != nil || !verdict.OK() {
		observe.SetUnchecked(job, "", p.now) // it is tried again
		return
	}
	tried := job.DeepCopy()
	observe.SetChecked(tried, verdict, p.now)
	v := observe.JobView{Job: tried, Scheduling: c.Scheduling}
	o, counts, err := v.Observed()
	if err != nil { // of a status that can't be read; the other jobs don't wait for that
		observe.SetUnchecked(job, "", p.now)
		return
	}
	if next, actions := lifecycle.StepJob(o, p.now); next.State == lifecycle.InQueue && !acts(actions) {
		job.Status = *v.Status(&next, counts, p.now)
	}
}

// giveBack lets go of the jobs of a Scheduling that was to have all its jobs, and stopped
// in the middle, when it can't have the others now: nobody has jobs and waits for others
// before it has begun. That can only be after two controllers have decided at once, or
// after an edit in that moment.
func (p *schedulingPass) giveBack(ctx context.Context, c *candidate, next *lifecycle.Scheduling) error {
	o := &c.observed
	if !next.Started.IsZero() || o.Deleting || c.Holds == 0 || c.Turn {
		return nil
	}
	stuck := false
	for _, name := range o.Lacking() {
		job := &v1alpha1.BatchJob{}
		err := p.live.Get(ctx, observe.Key(name), job)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		stuck = stuck || err != nil || !observe.Available(job) && !observe.Holds(c.Scheduling, job)
	}
	if !stuck {
		return nil
	}
	for i := range o.Members {
		if !o.Members[i].Held {
			continue
		}
		job := &v1alpha1.BatchJob{}
		if err := p.live.Get(ctx, observe.Key(o.Members[i].Job), job); err != nil {
			return client.IgnoreNotFound(err)
		}
		if !observe.Holds(c.Scheduling, job) || job.Status.CreationRequest != nil {
			continue
		}
		job.Status.ActiveScheduling = nil
		if err := p.client.Status().Update(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many requests are made at a time.
const atOnce = 16

// eachAtOnce calls f for 0 to n−1, some at a time, and returns all errors.
func eachAtOnce(n int, f func(int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = f(i)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
