package controller

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// schedulingView is all that is to be known of a Scheduling for its next step.
type schedulingView struct {
	Scheduling *v1alpha1.Scheduling
	// Testbed is the one it uses, nil if there is none of that name.
	Testbed *v1alpha1.Testbed
	// Job returns the BatchJob of a name, nil if there is none.
	Job func(types.NamespacedName) *v1alpha1.BatchJob
	// Holds is how many jobs have it as their active one, listed or not.
	Holds int
	// Turn reports whether it may have all the jobs that it lacks.
	Turn bool
	// Reserves reports whether the jobs that it lacks may be given slots before it has them.
	Reserves bool
	// Before is the Scheduling that is served first of those that want one of the jobs which
	// this one lacks; zero if there is none.
	Before testbed.Name
	// infeasibleJob and infeasibleTestbed are what makes it infeasible, as far as that is one of them.
	infeasibleJob     testbed.Name
	infeasibleTestbed bool
}

// observe returns what a step of the Scheduling decides on.
func (v *schedulingView) observe(now time.Time) (lifecycle.SchedulingObserved, error) {
	s := v.Scheduling
	stored, err := storedScheduling(&s.Status)
	if err != nil {
		return lifecycle.SchedulingObserved{}, err
	}
	o := lifecycle.SchedulingObserved{
		Stored: stored, Holds: v.Holds, Turn: v.Turn,
		Exclusive:   v.Testbed != nil && v.Testbed.Status.ExclusiveFor == s.UID,
		ConfirmEach: s.Spec.Confirm == v1alpha1.ConfirmEach, StopOnFailure: s.Spec.OnFailure == v1alpha1.OnFailureStop,
		Deleting: s.DeletionTimestamp != nil, Finalizer: hasFinalizer(s, v1alpha1.FinalizerJobs),
	}
	if ttl := s.Spec.TTLSecondsAfterFinished; ttl != nil {
		keep := time.Duration(*ttl) * time.Second
		o.KeepFor = &keep
	}
	claimed := make(map[types.UID]bool)
	if v.Testbed != nil {
		for i := range v.Testbed.Status.Claims {
			claimed[v.Testbed.Status.Claims[i].BatchJobUID] = true
		}
	}
	for _, name := range jobNames(s) {
		m, err := member(s, name, v.Job(keyOf(name)), now)
		if err != nil {
			return lifecycle.SchedulingObserved{}, err
		}
		m.Lost = v.isLost(name)
		if m.Exists {
			m.Claimed = claimed[v.Job(keyOf(name)).UID]
		}
		o.Members = append(o.Members, m)
	}
	return o, nil
}

// isLost reports whether the job, which the Scheduling had, was deleted before it ended.
func (v *schedulingView) isLost(name testbed.Name) bool {
	if v.Job(keyOf(name)) != nil || !slices.Contains(v.Scheduling.Status.Acquired, name.String()) {
		return false
	}
	last := v.record(name)
	return last != nil && (!hasEnded(last.State) || strings.HasPrefix(last.Reason, reasonDeleted))
}

// member is a job that the scheduling lists, as far as the job itself shows.
func member(s *v1alpha1.Scheduling, name testbed.Name, job *v1alpha1.BatchJob, now time.Time) (lifecycle.Member, error) {
	m := lifecycle.Member{Job: name}
	if job == nil {
		return m, nil
	}
	m.Exists = true
	if err := m.State.UnmarshalText([]byte(job.Status.State)); err != nil {
		return m, err
	}
	m.Held = hasJob(s, job)
	m.Begun = job.Status.CreationRequest != nil
	// What it was given before it has yet to give back: what it got now would go too.
	spent := m.State == lifecycle.InQueue && job.Status.CreationRequest != nil
	m.Waiting = spent || now.Before(timeOf(job.Status.NotBefore)) || untried(job)
	return m, nil
}

// hasJob reports whether the job's active scheduling is this one.
func hasJob(s *v1alpha1.Scheduling, job *v1alpha1.BatchJob) bool {
	return job.Status.ActiveScheduling != nil && job.Status.ActiveScheduling.UID == s.UID
}

// isAvailable reports whether a job may be had.
func isAvailable(job *v1alpha1.BatchJob) bool {
	return job != nil && job.DeletionTimestamp == nil && job.Status.ActiveScheduling == nil &&
		(job.Status.State == "" || job.Status.State == v1alpha1.BatchJobReady)
}

// isReserving reports whether the Scheduling reserves the jobs that it lacks: they may be given
// slots for it, and each becomes its own with the write that submits it. This is in its status,
// so that the controller of Testbeds can decide by it.
func isReserving(s *v1alpha1.Scheduling) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.SchedulingAcquired)
	return c != nil && c.Reason == reasonClaiming && c.ObservedGeneration == s.Generation && s.DeletionTimestamp == nil && !isRefused(s)
}

// isReservedFor reports whether the Scheduling reserves the job, and may still have it as it is.
// Whoever gives the job slots and whoever takes it by them must agree in that, or they would go
// on for ever.
func isReservedFor(s *v1alpha1.Scheduling, job *v1alpha1.BatchJob) bool {
	return isReserving(s) && isAvailable(job) && isAccepted(job) && slices.Contains(jobNames(s), nameOf(job))
}

// countReserved marks the jobs that the Scheduling reserves as its own.
func countReserved(s *v1alpha1.Scheduling, o *lifecycle.SchedulingObserved, jobs func(types.NamespacedName) *v1alpha1.BatchJob) {
	if !isReserving(s) {
		return
	}
	for i := range o.Members {
		if m := &o.Members[i]; isReservedFor(s, jobs(keyOf(m.Job))) {
			m.Held, m.State = true, lifecycle.InQueue
		}
	}
}

// untried reports whether the job is about to be tried, or its operator is missing: it must not
// be given slots yet.
func untried(job *v1alpha1.BatchJob) bool {
	c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobValid)
	if c == nil {
		return false
	}
	known, _ := checkOf(job)
	return known != lifecycle.Valid
}

// claimableIn returns the Scheduling as claim.Table.Grant takes it, and whether its step asks
// for slots now. in is the order of the Testbed's slots; jobs returns the BatchJob of a name, nil
// if there is none. A Scheduling that the Testbed does not admit (condition Feasible, NotAllowed)
// gets nothing, nor does one of a Testbed that is on its way out. The error is of a Scheduling
// that Grant would refuse.
func claimableIn(s *v1alpha1.Scheduling, tb *v1alpha1.Testbed, in *slot.Order, jobs func(types.NamespacedName) *v1alpha1.BatchJob, now time.Time) (claim.Scheduling, bool, error) {
	if tb.DeletionTimestamp != nil || isRefused(s) {
		return claim.Scheduling{}, false, nil
	}
	view := schedulingView{Scheduling: s, Testbed: tb, Job: jobs}
	o, err := view.observe(now)
	if err != nil {
		return claim.Scheduling{}, false, err
	}
	countReserved(s, &o, jobs)
	eligible := inOrder(s, &o, submits(&o, now), jobs)
	if len(eligible) == 0 {
		return claim.Scheduling{}, false, nil
	}
	c := claim.Scheduling{
		Precedence: precedence(s), UID: string(s.UID), Exclusive: s.Spec.Exclusive, Request: queueRequest(s, in),
		JobUIDs: make(map[testbed.Name]string),
	}
	for _, name := range eligible {
		c.JobUIDs[name] = string(jobs(keyOf(name)).UID)
	}
	if err := c.Validate(); err != nil {
		return claim.Scheduling{}, false, err
	}
	return c, true, nil
}

// inOrder are those of the jobs that no job before them holds back: in a queue, and where
// slots are named strictly, a job is submitted only when all before it have been. One that
// waits to be tried again has been.
func inOrder(s *v1alpha1.Scheduling, o *lifecycle.SchedulingObserved, eligible []testbed.Name, jobs func(types.NamespacedName) *v1alpha1.BatchJob) []testbed.Name {
	if s.Spec.SlotBased != nil && s.Spec.SlotBased.Mode == v1alpha1.Relaxed {
		return eligible
	}
	for i := range o.Members {
		m := &o.Members[i]
		waits := m.Held && m.State <= lifecycle.InQueue && !m.Claimed && jobs(keyOf(m.Job)).Status.Retries == 0
		if waits && !slices.Contains(eligible, m.Job) {
			before := o.Members[:i]
			return slices.DeleteFunc(slices.Clone(eligible), func(name testbed.Name) bool {
				return !slices.ContainsFunc(before, func(b lifecycle.Member) bool { return b.Job == name })
			})
		}
	}
	return eligible
}

// submits are the jobs that the scheduling's step has granted slots.
func submits(o *lifecycle.SchedulingObserved, now time.Time) []testbed.Name {
	_, actions := lifecycle.StepScheduling(*o, now)
	for _, a := range actions {
		if a.Op == lifecycle.SubmitJobs {
			return a.Jobs
		}
	}
	return nil
}

// isRefused reports whether the Scheduling was found not to be allowed.
func isRefused(s *v1alpha1.Scheduling) bool {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.SchedulingFeasible)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonNotAllowed
}

// applicantOf is the Scheduling with the jobs that it lacks, as claim.Acquire takes it. One that
// reserves its jobs, or has some of its first jobs already, was stopped before it had all: it
// comes before all others, because two such Schedulings could wait for each other.
func applicantOf(s *v1alpha1.Scheduling, o *lifecycle.SchedulingObserved) claim.Applicant {
	a := claim.Applicant{Precedence: precedence(s), Jobs: o.Lacking()}
	held := slices.ContainsFunc(o.Members, func(m lifecycle.Member) bool { return m.Held })
	if (held || isReserving(s)) && o.Stored.Started.IsZero() {
		a.Priority, a.Created = maxPriority, time.Time{}
	}
	return a
}

const maxPriority = 1<<31 - 1
