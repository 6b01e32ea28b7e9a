package lifecycle

import (
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
)

// Scheduling is what is stored of a scheduling. The zero value is one that has not been
// looked at yet.
type Scheduling struct {
	State SchedulingState
	// Started is when it had its jobs, Completed when all had ended, the last time, or it
	// failed; both are the same of one that others have kept from ever having all.
	Started, Completed time.Time
	// Acquired are the jobs that it lists and has had or reserved, sorted. One of them
	// that does not exist was deleted.
	Acquired []testbed.Name
}

// Member is a job that a scheduling lists.
type Member struct {
	Job testbed.Name
	// Exists reports whether there is such a job; the others describe it.
	Exists bool
	State  JobState
	// Held reports whether the job's active scheduling is this one.
	Held bool
	// Lost is true of a job that the scheduling had and that was deleted before it ended.
	Lost bool
	// Claimed reports whether the job has a claim on slots.
	Claimed bool
	// Begun reports whether the job, which it holds, was submitted: it can no longer be
	// released as if it had never been held.
	Begun bool
	// Waiting reports whether the job must not start yet: the delay before it is tried again
	// is not over, or no operator is there to run its application.
	Waiting bool
}

// SchedulingObserved is what StepScheduling decides on.
type SchedulingObserved struct {
	Stored Scheduling
	// Members are the jobs in the order of their first occurrence, each once.
	Members []Member
	// Holds is how many jobs have this as their active scheduling, listed or not.
	Holds int
	// Turn reports whether it may have all the jobs that it lacks (Lacking, claim.Acquire):
	// they exist, are ready, and no scheduling before it wants one.
	Turn bool
	// Exclusive reports whether it has its testbed alone.
	Exclusive bool
	// ConfirmEach has jobs wait until those submitted before have their pods bound.
	ConfirmEach bool
	// StopOnFailure ends it when a job has failed.
	StopOnFailure bool
	// Deleting reports whether it is on its way out, Finalizer whether it waits for its
	// controller.
	Deleting, Finalizer bool
	// KeepFor is how long it is kept once it has ended; nil is for ever.
	KeepFor *time.Duration
}

// SchedulingOp is what a SchedulingAction does.
type SchedulingOp string

// What is done for a scheduling.
const (
	// AddSchedulingFinalizer: the scheduling's finalizer is set.
	AddSchedulingFinalizer SchedulingOp = "add-finalizer"
	// AcquireJobs: it becomes the active scheduling of the Jobs.
	AcquireJobs SchedulingOp = "acquire"
	// SubmitJobs: the Jobs may be granted slots (claim.Table.Grant), and get their requests.
	SubmitJobs SchedulingOp = "submit"
	// Unlock: it has its testbed alone no more.
	Unlock SchedulingOp = "unlock"
	// DeleteScheduling: it is deleted, having been kept for as long as it was to be.
	DeleteScheduling SchedulingOp = "delete"
	// RemoveSchedulingFinalizer: its finalizer is removed; it is gone then.
	RemoveSchedulingFinalizer SchedulingOp = "remove-finalizer"
	// WakeScheduling: it is to be looked at again at the time At, even if nothing happens.
	WakeScheduling SchedulingOp = "wake"
)

// SchedulingAction is what is to be done for a scheduling. It is idempotent.
type SchedulingAction struct {
	Op   SchedulingOp
	Jobs []testbed.Name
	At   time.Time
}

// had reports whether the scheduling has, or once had, the job.
func (o *SchedulingObserved) had(m *Member) bool {
	_, before := slices.BinarySearchFunc(o.Stored.Acquired, m.Job, testbed.Name.Compare)
	return m.Held || before
}

// Lacking returns the jobs that the scheduling wants and does not have: what it applies
// for. A job that it had and that was deleted it does not want, nor, once it has
// completed, one that was made anew. One that has failed or goes wants none.
func (o *SchedulingObserved) Lacking() []testbed.Name {
	if o.Deleting || o.Stored.State > SchedulingCompleted {
		return nil
	}
	again := o.Stored.Completed.IsZero()
	return o.those(func(m *Member) bool { return !m.Held && (!o.had(m) || m.Exists && again) })
}

// eligible returns the jobs that could start if there were slots.
func (o *SchedulingObserved) eligible() []testbed.Name {
	return o.those(func(m *Member) bool { return m.Held && m.State == InQueue && !m.Claimed && !m.Waiting })
}

// those returns the members' jobs of which it is true.
func (o *SchedulingObserved) those(is func(*Member) bool) []testbed.Name {
	var jobs []testbed.Name
	for i := range o.Members {
		if m := &o.Members[i]; is(m) {
			jobs = append(jobs, m.Job)
		}
	}
	return jobs
}

// any reports whether it is true of a member that the scheduling holds.
func (o *SchedulingObserved) any(is func(*Member) bool) bool {
	return slices.ContainsFunc(o.Members, func(m Member) bool { return m.Held && is(&m) })
}

// unconfirmed is a job that was submitted and whose pods are not all bound.
func unconfirmed(m *Member) bool {
	return m.State == Submitted || m.State <= InQueue && m.Claimed
}

// unsubmitted is a job that has yet to be submitted.
func unsubmitted(m *Member) bool { return m.State <= InQueue && !m.Claimed }

// unended is a job that has not ended.
func unended(m *Member) bool { return !m.State.ended() }

// lost is a job that was deleted before it ended.
func lost(m *Member) bool { return m.Lost }

// begun is a job that has had slots from the scheduling.
func begun(m *Member) bool { return m.Begun }

// underWay is a job that has slots, or something in them.
func underWay(m *Member) bool { return m.State.submitted() || m.Claimed }

// StepScheduling returns the state in which the scheduling is by what is observed, and what is
// to be done. It is pure, and modifies nothing that it is given.
func StepScheduling(o SchedulingObserved, now time.Time) (Scheduling, []SchedulingAction) {
	s := schedulingStep{Scheduling: o.Stored, o: &o, now: now}
	s.Acquired = s.had()
	for s.advance() {
	}
	return s.Scheduling, s.actions()
}

// schedulingStep is a step of a scheduling under way.
type schedulingStep struct {
	Scheduling
	o   *SchedulingObserved
	now time.Time
}

// had are the jobs that it lists and has had.
func (s *schedulingStep) had() []testbed.Name {
	had := s.o.those(s.o.had)
	slices.SortFunc(had, testbed.Name.Compare)
	return had
}

// advance makes one transition, and reports whether there was one.
func (s *schedulingStep) advance() bool {
	next := s.next()
	if next == s.State {
		return false
	}
	if s.State == Acquiring && s.Started.IsZero() && (next == Confirming || next == SchedulingCompleted) {
		s.Started = s.now
		// It still wants what it reserved and another took, as two decided at once.
		s.Acquired = s.o.those(func(m *Member) bool { return m.Held || !m.Exists && s.o.had(m) })
		slices.SortFunc(s.Acquired, testbed.Name.Compare)
	}
	if next == SchedulingCompleted || next == SchedulingFailed {
		s.Completed = s.now
	}
	s.State = next
	return true
}

// next is the state after one transition.
func (s *schedulingStep) next() SchedulingState {
	o := s.o
	switch {
	case s.State == SchedulingReleasing && o.Holds == 0:
		return Released
	case s.State == SchedulingReleasing || s.State == Released:
		return s.State
	case o.Deleting:
		return SchedulingReleasing
	case s.State == New:
		return Acquiring
	case s.State.active() && o.StopOnFailure && (o.any(func(m *Member) bool { return m.State == Failed }) || len(o.those(lost)) > 0):
		return SchedulingFailed
	}
	switch s.State {
	case Acquiring:
		switch {
		case len(o.Lacking()) == 0 && !o.any(func(m *Member) bool { return m.State == Ready }):
			return Confirming
		case !o.Turn && !o.any(unended) && (!s.Started.IsZero() || o.any(begun)):
			// A scheduling that has jobs does not wait for others with nothing else to do: two
			// could wait for each other's jobs, or for a testbed that one of them has alone.
			return SchedulingCompleted
		}
	case Confirming:
		if !o.ConfirmEach || !o.any(unconfirmed) {
			return Submitting
		}
	case Submitting:
		if o.ConfirmEach && o.any(unconfirmed) {
			return Confirming
		}
		if !o.any(unsubmitted) {
			return AwaitingCompletion
		}
	case AwaitingCompletion:
		switch {
		case len(o.Lacking()) > 0:
			return Acquiring
		case o.any(unsubmitted):
			return Submitting
		case !o.any(unended):
			return SchedulingCompleted
		}
	case SchedulingCompleted:
		if o.any(func(m *Member) bool { return m.State < Completed }) { // one that was added since
			return Submitting
		}
	}
	return s.State
}

// actions are what is to be done in the state reached.
func (s *schedulingStep) actions() []SchedulingAction {
	o := s.o
	var actions []SchedulingAction
	do := func(when bool, a SchedulingAction) {
		if when {
			actions = append(actions, a)
		}
	}
	do(s.State != Released && !o.Deleting && !o.Finalizer, SchedulingAction{Op: AddSchedulingFinalizer})
	if s.State.active() || s.State == SchedulingCompleted {
		lacking := o.Lacking()
		do(len(lacking) > 0 && o.Turn, SchedulingAction{Op: AcquireJobs, Jobs: lacking})
	}
	if s.State.active() {
		// What it already has goes on while it waits for what was added.
		eligible, confirmed := o.eligible(), !o.ConfirmEach || !o.any(unconfirmed)
		do(len(eligible) > 0 && !s.Started.IsZero() && confirmed, SchedulingAction{Op: SubmitJobs, Jobs: eligible})
	}
	over := s.State == SchedulingCompleted || s.State == SchedulingFailed && !o.any(underWay)
	do(o.Exclusive && (over || s.State == Released), SchedulingAction{Op: Unlock})
	if over && o.KeepFor != nil {
		at := s.Completed.Add(*o.KeepFor)
		do(!s.now.Before(at), SchedulingAction{Op: DeleteScheduling})
		do(s.now.Before(at), SchedulingAction{Op: WakeScheduling, At: at})
	}
	do(s.State == Released && o.Finalizer, SchedulingAction{Op: RemoveSchedulingFinalizer})
	return actions
}
