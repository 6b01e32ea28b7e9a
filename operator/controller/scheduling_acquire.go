package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// turn reports whether the Scheduling may have the jobs that it lacks, over all Schedulings that
// want one of them. It is decided by what this process has written, which the cache may have yet
// to see: errBehind.
func (p *schedulingPass) turn(ctx context.Context, c *candidate, lacking []testbed.Name) (bool, error) {
	if len(lacking) == 0 || !c.feasible.OK() {
		return false, nil
	}
	if slices.ContainsFunc(lacking, func(name testbed.Name) bool { return p.written.unseen(c.Job(keyOf(name))) }) {
		return false, errBehind
	}
	applicants := []claim.Applicant{applicantOf(c.Scheduling, &c.observed)}
	rivals, err := p.rivals(ctx, c.Scheduling, lacking)
	if err != nil {
		return false, err
	}
	for _, s := range rivals {
		if p.known.get(client.ObjectKeyFromObject(s)).written.isNewerThan(s) {
			return false, errBehind
		}
		rival, err := p.candidate(ctx, s)
		if err != nil {
			return false, err
		}
		// One whose jobs are not all there, or which may not have them, waits without
		// keeping others waiting.
		if len(rival.observed.Lacking()) > 0 && rival.feasible.OK() {
			applicants = append(applicants, applicantOf(s, &rival.observed))
		}
	}
	granted := claim.Acquire(applicants, func(name testbed.Name) bool { return isAvailable(c.Job(keyOf(name))) })
	first := slices.MinFunc(applicants, func(a, b claim.Applicant) int { return a.Compare(b.Precedence) })
	if c.Before = (testbed.Name{}); first.Name != applicants[0].Name {
		c.Before = first.Name
	}
	return granted[0], nil
}

// errBehind is returned where nothing can be decided yet: another worker decides about the same
// jobs, or the cache has yet to see what was decided.
var errBehind = errors.New("another decision about the jobs is not in the cache yet")

// reserve decides whether the jobs are given slots before the Scheduling has them, which saves a
// write of each job, and sets c.Reserves. began reports whether that begins with this step.
func (p *schedulingPass) reserve(ctx context.Context, c *candidate, lacking []testbed.Name) (began bool) {
	if !c.Turn || !c.observed.Stored.Started.IsZero() || c.Scheduling.Spec.Exclusive {
		return false
	}
	began = !isReserving(c.Scheduling) && p.reservable(ctx, c, lacking)
	c.Reserves = began || isReserving(c.Scheduling)
	return began
}

// reservable reports whether nothing is known against any of the jobs: one that would be refused
// must not get slots.
func (p *schedulingPass) reservable(ctx context.Context, c *candidate, names []testbed.Name) bool {
	return !slices.ContainsFunc(names, func(name testbed.Name) bool {
		job := c.Job(keyOf(name))
		if !isAvailable(job) || !isAccepted(job) {
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

// acquire makes the Scheduling the active one of the jobs that have no slots yet. The API server
// refuses to write a job that has changed since. If another has one of them by then, what was
// taken is rolled back.
func (p *schedulingPass) acquire(ctx context.Context, c *candidate, names []testbed.Name) error {
	s := c.Scheduling
	names = slices.DeleteFunc(slices.Clone(names), func(name testbed.Name) bool { return comes(c, name) })
	if len(names) > 0 {
		var now v1alpha1.Scheduling
		if err := p.live.Get(ctx, client.ObjectKeyFromObject(s), &now); err != nil {
			return err
		}
		if now.UID != s.UID || now.DeletionTimestamp != nil || now.Generation != s.Generation {
			return errBehind
		}
	}
	if err := eachAtOnce(len(names), func(i int) error { return p.take(ctx, c, c.Job(keyOf(names[i])).DeepCopy()) }); err != nil {
		return err
	}
	p.rest(s)
	return nil
}

// comes reports whether a job has the claim with which it becomes the Scheduling's.
func comes(c *candidate, name testbed.Name) bool {
	job := c.Job(keyOf(name))
	if !isReservedFor(c.Scheduling, job) {
		return false
	}
	has := claimOfJob(c.Testbed, job.UID)
	return has != nil && has.SchedulingUID == c.Scheduling.UID
}

// coming counts the available jobs that have claims for the Scheduling: their own controller may
// be about to take them by these claims, and ends what is left of the claims.
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
		if err := p.cached.Get(ctx, keyOf(name), job, client.UnsafeDisableDeepCopy); err == nil && job.UID == has.BatchJobUID && isAvailable(job) {
			n++
		}
	}
	return n
}

// errTaken is returned where another has a job that was available by the cache.
var errTaken = fmt.Errorf("another controller has taken a job: %w", errBehind)

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
		case hasJob(c.Scheduling, job):
			return nil
		case !isAvailable(job):
			return errTaken
		}
		before := job.Status.State
		p.enqueue(ctx, c, job)
		if err := p.client.Status().Update(ctx, job); err != nil {
			return err
		}
		p.written.note(job)
		if before != job.Status.State {
			p.logger.Info("a job changed its state", "job", job.Namespace+"/"+job.Name, "from", before, "to", job.Status.State, "reason", job.Status.Reason)
		}
		return nil
	})
}

// enqueue makes the Scheduling the job's active one and, if its application was tried and
// nothing is said against it, has the job make its step into the queue, which is to be
// written with that. All else is for the job's own controller to find and to report.
func (p *schedulingPass) enqueue(ctx context.Context, c *candidate, job *v1alpha1.BatchJob) {
	acquireJob(job, c.Scheduling, p.now)
	verdict, err := p.trial.of(ctx, job, c.Scheduling, c.Testbed)
	if err != nil || !verdict.OK() {
		setUnchecked(job, "", p.now) // it is tried again
		return
	}
	tried := job.DeepCopy()
	setChecked(tried, verdict, p.now)
	v := jobFacts{Job: tried, Scheduling: c.Scheduling}
	o, counts, err := v.observe()
	if err != nil { // of a status that can't be read; the other jobs don't wait for that
		setUnchecked(job, "", p.now)
		return
	}
	if next, actions := lifecycle.StepJob(o, p.now); next.State == lifecycle.InQueue && !acts(actions) {
		job.Status = *v.nextStatus(&next, &o, counts, p.now)
	}
}

// rollback releases the jobs of a Scheduling that was to have all its jobs, has some, and can't
// have the others now: no Scheduling that has not begun holds jobs while it waits for others. That
// is so only after two controllers have decided at once, or after an edit in that moment.
func (p *schedulingPass) rollback(ctx context.Context, c *candidate, next *lifecycle.Scheduling) error {
	o := &c.observed
	if !next.Started.IsZero() || o.Deleting || c.Holds == 0 || c.Turn {
		return nil
	}
	stuck := false
	for _, name := range o.Lacking() {
		job := &v1alpha1.BatchJob{}
		err := p.live.Get(ctx, keyOf(name), job)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		stuck = stuck || err != nil || !isAvailable(job) && !hasJob(c.Scheduling, job)
	}
	if !stuck {
		return nil
	}
	for i := range o.Members {
		if !o.Members[i].Held {
			continue
		}
		job := &v1alpha1.BatchJob{}
		if err := p.live.Get(ctx, keyOf(o.Members[i].Job), job); err != nil {
			return client.IgnoreNotFound(err)
		}
		if !hasJob(c.Scheduling, job) || job.Status.CreationRequest != nil {
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
