package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Request is what a job has been granted: the creation request of its next run.
type Request struct {
	Testbed testbed.Name
	Slots   []slot.ID
	// Attempt numbers the run, from 1 on and never the same for a job.
	Attempt int
}

// Run is a run of a job's application. Its times are the application's and its pods'
// own where those are known, so that who was away loses none.
type Run struct {
	Request
	Scheduling testbed.Name
	// Application is the UID of the application, once it has been seen.
	Application string
	// Submitted is when the application was created, Scheduled when the last of its pods
	// was bound, Started when the last of them started, Finished when it ended. What did
	// not happen or was not seen is zero.
	Submitted, Scheduled, Started, Finished time.Time
	Outcome                                 Outcome
	Reason                                  string
}

// maxRuns is how many runs a job remembers.
const maxRuns = 50

// Job is what is stored of a job. The zero value is a job that is ready.
type Job struct {
	State JobState
	// Reason is why it failed, or is in the queue again.
	Reason string
	// Scheduling is the active scheduling, its UID in SchedulingUID; both are set by it, on
	// a job that is Ready and has none.
	Scheduling    testbed.Name
	SchedulingUID string
	// Request is set by the controller that grants slots, on a job in the queue that has none.
	Request *Request
	// Retries counts the failed runs that were followed by another since the scheduling
	// has the job; the next is not before NotBefore.
	Retries   int
	NotBefore time.Time
	// StalledSince is since when a job that is Running has made no progress: its application
	// is not active, or none of its pods runs. It is zero while it does, and Reason says why.
	StalledSince time.Time
	// Runs are the last 50, the oldest first.
	Runs []Run
}

// NextAttempt numbers the run that comes next.
func (j *Job) NextAttempt() int {
	if len(j.Runs) == 0 {
		return 1
	}
	return j.Runs[len(j.Runs)-1].Attempt + 1
}

// Run returns the run under way, nil if there is none. It points into Runs.
func (j *Job) Run() *Run {
	if len(j.Runs) == 0 || j.Runs[len(j.Runs)-1].Outcome != Open {
		return nil
	}
	return &j.Runs[len(j.Runs)-1]
}

// spent reports whether the request's run has ended.
func (j *Job) spent() bool {
	return j.Request != nil && j.Run() == nil && j.Request.Attempt < j.NextAttempt()
}

// Phase is how far an application is.
type Phase uint8

// The phases of an application.
const (
	// Absent: there is none.
	Absent Phase = iota
	Pending
	Active
	Succeeded
	Ended // without success
)

func (p Phase) String() string {
	return nameOf([]string{"absent", "pending", "active", "succeeded", "ended"}, p)
}

// Application is what runs a job, as it is observed.
type Application struct {
	UID     string
	Attempt int
	Phase   Phase
	// State describes it in its own words, for people.
	State string
	// Reason is why it ended without success.
	Reason            string
	Created, Finished time.Time
	// Deleting reports whether it is being deleted, and DeletedAt is since when.
	Deleting  bool
	DeletedAt time.Time
}

// over reports whether the application does nothing more.
func (a *Application) over() bool { return a.Phase == Succeeded || a.Phase == Ended }

// Pods are the pods of a job that belong in slots.
type Pods struct {
	// Expected is how many the run has; 0 is one a slot.
	Expected int
	// Bound and Running are how many of the run's have been bound, and have started,
	// whether or not they have ended since; BoundAt and StartedAt when the last did.
	Bound, Running     int
	BoundAt, StartedAt time.Time
	// Alive are those of the run whose containers run now and that are not being deleted.
	// EndedAt is when the last one of the run ended, zero if none has or none says.
	Alive   int
	EndedAt time.Time
	// Live are those of any run that have not ended, bound or not. DeletedAt is by when the
	// last of them was to be gone, zero unless all of them are being deleted.
	Live      int
	DeletedAt time.Time
}

// Check is the result of a trial creation of the application.
type Check uint8

// The results of a trial.
const (
	Unchecked Check = iota
	Valid
	// Invalid: the application would be refused whenever it is created.
	Invalid
	// Unavailable: no operator is there that runs such applications. When that changes, the
	// job is to be observed as Unchecked.
	Unavailable
)

// JobObserved is what StepJob decides on.
type JobObserved struct {
	Stored Job
	// Wanted reports whether the active scheduling is there, lists the job, and is not on its
	// way out.
	Wanted bool
	// Claimed reports whether the job has a claim on slots.
	Claimed bool
	// Deleting reports whether the job is on its way out, Finalizer whether it waits for its
	// controller.
	Deleting, Finalizer bool
	Check               Check
	// Problem is why Check is Invalid.
	Problem string
	// Fault is why the run must end although the application goes on: its creation was
	// refused, or a pod is not what was asked for. It is empty if nothing is wrong.
	Fault       string
	Application Application
	Pods        Pods
	// RetryLimit is how many failed runs are followed by another, RetryDelay (0 is 10 s)
	// after which time.
	RetryLimit int
	RetryDelay time.Duration
	// SubmitTimeout is how long a run may take until it runs; 0 is 10 min.
	SubmitTimeout time.Duration
	// StallTimeout is how long a run that runs may make no progress, and how long an
	// application that is being deleted and has no pods is waited for, and pods that should
	// be gone; 0 is 10 min.
	StallTimeout time.Duration
}

// Timeout is the default of JobObserved.SubmitTimeout and StallTimeout.
const Timeout = 10 * time.Minute

const (
	retryDelay = 10 * time.Second
	// endGrace is how long an application may take to report its end after that of its last
	// pod before the run counts as stalled.
	endGrace = 10 * time.Second
)

// Reasons that StepJob gives for a run that failed.
const (
	ReasonLost    = "ApplicationLost"
	reasonTimeout = "SubmitTimeout"
	// ReasonStalled is the first word of a longer reason.
	ReasonStalled = "Stalled"
	reasonEnded   = "ApplicationFailed"
)

// JobOp is what a JobAction does.
type JobOp string

// What is done for a job.
const (
	// AddJobFinalizer: the job's finalizer is set.
	AddJobFinalizer JobOp = "add-finalizer"
	// CheckApplication: the creation of the application is tried, without effect.
	CheckApplication JobOp = "check"
	// CreateApplication: the application of the Attempt is created for the job's request.
	CreateApplication JobOp = "create"
	// DeleteApplication: the application with the UID is deleted.
	DeleteApplication JobOp = "delete"
	// FreeSlots: the job's claim ends.
	FreeSlots JobOp = "free-slots"
	// RemoveJobFinalizer: the job's finalizer is removed; it is gone then.
	RemoveJobFinalizer JobOp = "remove-finalizer"
	// WakeJob: the job is to be looked at again at the time At, even if nothing happens.
	WakeJob JobOp = "wake"
)

// PodsUntil returns until when the job keeps its slots for pods that are being deleted, zero if
// it does not wait for such pods: a run is under way, none is left, or one of them stays.
func (o *JobObserved) PodsUntil(run *Run) time.Time {
	if run != nil || o.Pods.Live == 0 || o.Pods.DeletedAt.IsZero() {
		return time.Time{}
	}
	return o.Pods.DeletedAt.Add(cmp.Or(o.StallTimeout, Timeout))
}

// JobAction is what is to be done for a job. It is idempotent.
type JobAction struct {
	Op      JobOp
	Attempt int
	UID     string
	At      time.Time
}

// StepJob returns the state in which the job is by what is observed, and what is to be done.
// It is pure, and modifies nothing that it is given.
func StepJob(o JobObserved, now time.Time) (Job, []JobAction) {
	o.RetryDelay = cmp.Or(o.RetryDelay, retryDelay)
	o.SubmitTimeout, o.StallTimeout = cmp.Or(o.SubmitTimeout, Timeout), cmp.Or(o.StallTimeout, Timeout)
	j := o.Stored
	j.Runs = slices.Clone(j.Runs)
	step := jobStep{Job: &j, o: &o, now: now}
	if step.podsAreOverdue() { // the steps below count them as gone
		o.Pods.Live = 0
	}
	if step.isAbandoned() {
		o.Application = Application{}
	}
	for step.advance() {
	}
	return j, step.actions()
}
