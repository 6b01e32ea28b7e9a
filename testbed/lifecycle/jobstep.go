package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
)

// jobStep is a step of a job under way.
type jobStep struct {
	*Job
	o   *JobObserved
	now time.Time
}

// advance makes one transition, and reports whether there was one.
func (s *jobStep) advance() bool {
	before := s.State
	switch s.State {
	case Ready:
		s.ready()
	case InQueue:
		s.inQueue()
	case Submitted, Scheduled, Running:
		s.underWay()
	case Completed, Failed:
		s.releaseUnlessWanted()
	case Releasing:
		s.releasing()
	}
	return s.State != before
}

// held reports whether the scheduling has the job.
func (s *jobStep) held() bool { return s.o.Wanted && !s.o.Deleting }

func (s *jobStep) ready() {
	switch {
	case s.SchedulingUID == "":
	case s.held():
		s.State = InQueue
	default:
		s.Scheduling, s.SchedulingUID = testbed.Name{}, ""
	}
}

func (s *jobStep) inQueue() {
	if s.spent() && !s.o.Claimed {
		s.Request = nil
	}
	switch {
	case s.releaseUnlessWanted():
	case s.o.Check == Invalid:
		s.State, s.Reason = Failed, s.o.Problem
	case s.Request == nil || s.spent() || s.now.Before(s.NotBefore):
	default:
		s.State, s.Reason, s.NotBefore = Submitted, "", time.Time{}
		s.Runs = append(s.Runs, Run{Request: *s.Request, Scheduling: s.Scheduling, Submitted: s.now})
		s.Runs = s.Runs[max(0, len(s.Runs)-maxRuns):]
	}
}

func (s *jobStep) releaseUnlessWanted() bool {
	if s.held() {
		return false
	}
	s.State = Releasing
	return true
}

// application returns the run's own application, nil if it is not there.
func (s *jobStep) application(run *Run) *Application {
	if a := &s.o.Application; a.Phase != Absent && a.Attempt == run.Attempt {
		return a
	}
	return nil
}

// underWay follows a run: first as far as it has come, so that what has ended is not
// called late, then whether it has ended.
func (s *jobStep) underWay() {
	run := s.Run()
	if run == nil { // a stored state that contradicts itself
		s.State = Releasing
		return
	}
	app := s.application(run)
	s.follow(run, app)
	s.stall(run, app)
	switch {
	case app != nil && app.Phase == Succeeded:
		s.end(run, app, RunSucceeded, "")
		s.State = Completed
	case app != nil && app.Phase == Ended:
		s.fail(run, app, cmp.Or(app.Reason, reasonEnded))
	case !s.held():
		s.end(run, app, RunCancelled, "")
		s.State = Releasing
	case s.o.Fault != "":
		s.fail(run, app, s.o.Fault)
	case run.Application != "" && app == nil:
		s.fail(run, nil, ReasonLost)
	case s.State != Running && !s.now.Before(run.Submitted.Add(s.o.SubmitTimeout)):
		s.fail(run, app, reasonTimeout)
	case !s.StalledSince.IsZero() && !s.now.Before(s.stallsUntil()):
		s.fail(run, app, fmt.Sprintf("%s: %s for stallTimeout, %s", ReasonStalled, s.progress(run, app), s.o.StallTimeout))
	}
}

// stall notes whether a run that runs makes progress. An operator that is gone never
// reports the end of its application, so that without a bound the run would keep its slots
// for ever.
func (s *jobStep) stall(run *Run, app *Application) {
	progresses := app != nil && (app.over() || app.Phase == Active && s.o.Pods.Alive > 0)
	if s.State != Running || progresses || !s.held() {
		s.StalledSince, s.Reason = time.Time{}, ""
		return
	}
	if s.StalledSince.IsZero() {
		if s.now.Before(s.endsBy()) {
			return
		}
		s.StalledSince = s.now
	}
	s.Reason = fmt.Sprintf("%s: %s; the run fails at %s (stallTimeout %s)",
		ReasonStalled, s.progress(run, app), s.stallsUntil().UTC().Format(time.RFC3339), s.o.StallTimeout)
}

// progress describes a run that makes none.
func (s *jobStep) progress(run *Run, app *Application) string {
	state := "gone"
	if app != nil {
		state = cmp.Or(app.State, app.Phase.String())
	}
	return fmt.Sprintf("the application is %s, and %d of %d pods run", state, s.o.Pods.Alive, cmp.Or(s.o.Pods.Expected, len(run.Slots)))
}

func (s *jobStep) stallsUntil() time.Time { return s.StalledSince.Add(s.o.StallTimeout) }

// endsBy is until when the application may report its end, all its pods having ended; zero
// where it is not so. A time that lies further ahead than endGrace is a clock's that is wrong.
func (s *jobStep) endsBy() time.Time {
	at := s.o.Pods.EndedAt
	if at.IsZero() || s.o.Pods.Alive > 0 || at.After(s.now.Add(endGrace)) {
		return time.Time{}
	}
	return at.Add(endGrace)
}

// podsAreOverdue reports whether the pods of runs that have ended, all of which are being
// deleted, are not waited for any more: on a node that is off nothing completes their deletion.
func (s *jobStep) podsAreOverdue() bool {
	until := s.o.PodsUntil(s.Run())
	return !until.IsZero() && !s.now.Before(until)
}

// isAbandoned reports whether the application of a run that has ended is being deleted and
// is not waited for any more: what should complete its deletion is gone, and no pod is left.
func (s *jobStep) isAbandoned() bool {
	return s.leaves() && !s.now.Before(s.o.Application.DeletedAt.Add(s.o.StallTimeout))
}

func (s *jobStep) leaves() bool {
	app := &s.o.Application
	return s.Run() == nil && app.Deleting && !app.DeletedAt.IsZero() && s.o.Pods.Live == 0
}

// follow notes what is seen of the run and how far it has come.
func (s *jobStep) follow(run *Run, app *Application) {
	if app != nil && run.Application == "" {
		run.Application = app.UID
		if !app.Created.IsZero() {
			run.Submitted = app.Created
		}
	}
	pods, expected := &s.o.Pods, max(1, cmp.Or(s.o.Pods.Expected, len(run.Slots)))
	if s.State == Submitted && pods.Bound >= expected {
		s.State = Scheduled
	}
	if run.Scheduled.IsZero() && pods.Bound >= expected {
		run.Scheduled = orNow(pods.BoundAt, s.now)
	}
	if s.State == Scheduled && app != nil && app.Phase == Active && pods.Running >= expected {
		s.State = Running
	}
	if run.Started.IsZero() && app != nil && app.Phase != Pending && pods.Running >= expected {
		run.Started = orNow(pods.StartedAt, s.now)
	}
}

func orNow(at, now time.Time) time.Time {
	if at.IsZero() {
		return now
	}
	return at
}

// end closes the run.
func (s *jobStep) end(run *Run, app *Application, outcome Outcome, reason string) {
	run.Outcome, run.Reason, run.Finished = outcome, reason, s.now
	s.StalledSince = time.Time{}
	if app != nil {
		run.Finished = orNow(app.Finished, s.now)
	}
}

// fail closes the run, and puts the job into the queue again if it may be tried again.
func (s *jobStep) fail(run *Run, app *Application, reason string) {
	s.end(run, app, RunFailed, reason)
	s.State, s.Reason = Failed, reason
	if s.Retries < s.o.RetryLimit {
		s.State = InQueue
		s.Retries++
		s.NotBefore = s.now.Add(s.o.RetryDelay)
	}
}

func (s *jobStep) releasing() {
	if s.o.Application.Phase != Absent || s.o.Pods.Live > 0 || s.o.Claimed {
		return
	}
	runs := s.Runs
	*s.Job = Job{Runs: runs}
}

// actions are what is to be done in the state reached.
func (s *jobStep) actions() []JobAction {
	var actions []JobAction
	do := func(when bool, a JobAction) {
		if when {
			actions = append(actions, a)
		}
	}
	o, app, run := s.o, &s.o.Application, s.Run()
	absent := app.Phase == Absent
	do(!o.Deleting && !o.Finalizer, JobAction{Op: AddJobFinalizer})
	do(s.State == InQueue && o.Check == Unchecked, JobAction{Op: CheckApplication})
	do(s.State == InQueue && s.now.Before(s.NotBefore), JobAction{Op: WakeJob, At: s.NotBefore})
	if run != nil {
		do(absent && run.Application == "", JobAction{Op: CreateApplication, Attempt: run.Attempt})
		do(s.State != Running, JobAction{Op: WakeJob, At: run.Submitted.Add(o.SubmitTimeout)})
		do(!s.StalledSince.IsZero(), JobAction{Op: WakeJob, At: s.stallsUntil()})
		do(s.State == Running && s.StalledSince.IsZero() && s.now.Before(s.endsBy()), JobAction{Op: WakeJob, At: s.endsBy()})
	}
	podsUntil := o.PodsUntil(run)
	do(!podsUntil.IsZero(), JobAction{Op: WakeJob, At: podsUntil})
	do(s.leaves(), JobAction{Op: WakeJob, At: app.DeletedAt.Add(o.StallTimeout)})
	do(!absent && !app.Deleting && s.superfluous(run), JobAction{Op: DeleteApplication, Attempt: app.Attempt, UID: app.UID})
	do(o.Claimed && s.vacant(), JobAction{Op: FreeSlots})
	do(o.Deleting && o.Finalizer && s.State == Ready && absent && o.Pods.Live == 0 && !o.Claimed, JobAction{Op: RemoveJobFinalizer})
	return actions
}

// superfluous reports whether the application that is there is to go. One that has ended
// stays to be looked at while the scheduling has the job, unless it keeps pods.
func (s *jobStep) superfluous(run *Run) bool {
	switch app := &s.o.Application; s.State {
	case Submitted, Scheduled, Running:
		return app.Attempt != run.Attempt
	case Completed, Failed:
		return !app.over() || s.o.Pods.Live > 0
	default:
		return true
	}
}

// vacant reports whether the job needs its slots no more: nothing that belongs to it could
// still be in one.
func (s *jobStep) vacant() bool {
	app := &s.o.Application
	switch {
	case s.o.Pods.Live > 0:
		return false
	case s.State == Completed, s.State == Failed:
		return app.Phase == Absent || app.over()
	case s.State == InQueue:
		return s.spent() && app.Phase == Absent
	}
	return !s.State.submitted() && app.Phase == Absent
}
