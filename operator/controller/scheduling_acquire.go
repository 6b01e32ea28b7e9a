package controller

import (
	"context"
	"errors"
	"sync"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/observe"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
)

// turn says whether it is the Scheduling's turn to have the jobs that it lacks. It is
// decided over all that want one of them; others' wishes are none of its business.
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
	granted := claim.Acquire(applicants, func(name testbed.Name) bool { return available(c.Job(observe.Key(name))) })
	return granted[0], nil
}

// available says whether a job may be had.
func available(job *v1alpha1.BatchJob) bool {
	return job != nil && job.DeletionTimestamp == nil && job.Status.ActiveScheduling == nil &&
		(job.Status.State == "" || job.Status.State == v1alpha1.BatchJobReady)
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

// errUnavailable says that what the cache says of a job, or of the Scheduling, is not so
// any more.
var errUnavailable = errors.New("a job is not to be had any more")

// acquire makes the Scheduling the active one of all the jobs. First it asks the API
// server whether they can all be had, for who is behind must not take some of them.
func (p *schedulingPass) acquire(ctx context.Context, s *v1alpha1.Scheduling, names []testbed.Name) error {
	var now v1alpha1.Scheduling
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(s), &now); err != nil {
		return err
	}
	if now.UID != s.UID || now.DeletionTimestamp != nil || now.Generation != s.Generation {
		p.wake(p.now.Add(tooSoon))
		return nil
	}
	jobs := make([]*v1alpha1.BatchJob, len(names))
	err := eachAtOnce(len(names), func(i int) error {
		jobs[i] = &v1alpha1.BatchJob{}
		if err := p.live.Get(ctx, observe.Key(names[i]), jobs[i]); err != nil {
			return err
		}
		if !available(jobs[i]) && !observe.Holds(s, jobs[i]) {
			return errUnavailable
		}
		return nil
	})
	if errors.Is(err, errUnavailable) {
		p.wake(p.now.Add(tooSoon))
		return nil
	}
	if err != nil {
		return err
	}
	return eachAtOnce(len(names), func(i int) error { return p.take(ctx, s, jobs[i]) })
}

// take makes the Scheduling the active one of a job, however often others write between.
func (p *schedulingPass) take(ctx context.Context, s *v1alpha1.Scheduling, job *v1alpha1.BatchJob) error {
	first := true
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !first {
			if err := p.live.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
				return err
			}
		}
		first = false
		if !available(job) {
			p.logger.Debug("a job was had by another", "job", job.Namespace+"/"+job.Name)
			return nil
		}
		observe.Acquire(job, s, p.now)
		return p.client.Status().Update(ctx, job)
	})
}

// giveBack lets go of the jobs of a Scheduling that was to have all its jobs, and stopped
// in the middle, when it can't have the others now: nobody has jobs and waits for others
// before it has begun. That can only be after two controllers have decided at once, or
// after an edit in that moment.
func (p *schedulingPass) giveBack(ctx context.Context, c *candidate) error {
	o := &c.observed
	if !o.Stored.Started.IsZero() || o.Deleting || c.Holds == 0 || c.Turn {
		return nil
	}
	stuck := false
	for _, name := range o.Lacking() {
		job := &v1alpha1.BatchJob{}
		err := p.live.Get(ctx, observe.Key(name), job)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		stuck = stuck || err != nil || !available(job) && !observe.Holds(c.Scheduling, job)
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
