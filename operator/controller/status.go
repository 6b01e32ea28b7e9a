package controller

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// Reasons of conditions beside those of package v1alpha1.
const (
	reasonUnchecked = "Unchecked"
	reasonAccepted  = "Accepted"
	reasonAcquired  = "Acquired"
	reasonClaiming  = "Claiming"
	reasonReleased  = "Released"
	reasonWaiting   = "Waiting"
)

// nextStatus is what the BatchJob's status is to be after a step: the state, what is seen of
// the application and its pods, and the conditions.
func (v *jobFacts) nextStatus(j *lifecycle.Job, o *lifecycle.JobObserved, counts v1alpha1.PodCounts, now time.Time) *v1alpha1.BatchJobStatus {
	status := v.Job.Status.DeepCopy()
	storeJob(status, j)
	status.ObservedGeneration = v.Job.Generation
	v.setApplication(status)
	status.Pods = nil
	if j.State != lifecycle.Ready && j.State != lifecycle.InQueue {
		status.Pods = &counts
	}
	c := conditions{&status.Conditions, v.Job.Generation, now}
	acquired := finding{reasonReleased, ""}
	if status.ActiveScheduling != nil {
		acquired = finding{}
	}
	c.set(v1alpha1.BatchJobAcquired, reasonAcquired, acquired)
	c.set(v1alpha1.BatchJobPodsScheduled, string(v1alpha1.BatchJobScheduled), unless(j.State == lifecycle.Scheduled || j.State == lifecycle.Running, status.State))
	c.set(v1alpha1.BatchJobIsRunning, string(v1alpha1.BatchJobRunning), running(j, o, status.State))
	ended := string(v1alpha1.Succeeded)
	if j.State == lifecycle.Failed {
		ended = string(v1alpha1.Failed)
	}
	c.set(v1alpha1.BatchJobIsCompleted, ended, unless(j.State == lifecycle.Completed || j.State == lifecycle.Failed, status.State))
	if fields := v.overridden(status); len(fields) > 0 {
		c.put(v1alpha1.BatchJobOverridden, metav1.ConditionTrue, v1alpha1.BatchJobOverridden, strings.Join(fields, "; "))
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BatchJobOverridden)
	}
	if v.webhookMissing() {
		c.set(v1alpha1.BatchJobValid, "", finding{v1alpha1.ReasonWebhookMissing, "a pod was made without the settings of the application: the operator's webhook does not work"})
	}
	return status
}

// overridden lists the application's fields that are not used as they are given, in the
// run that was requested or, as far as that can be known, in any.
func (v *jobFacts) overridden(status *v1alpha1.BatchJobStatus) []string {
	adapter, err := workload.Of(&v.Job.Spec)
	if err != nil {
		return nil
	}
	request := status.CreationRequest
	if request == nil {
		request = draft(v.Job)
	}
	child, err := adapter.Child(v.Job, request)
	if err != nil {
		return nil // why is in the condition Valid
	}
	return workload.Overridden(&v.Job.Spec, child)
}

// running returns why the job does not run, and until when that is waited for.
func running(j *lifecycle.Job, o *lifecycle.JobObserved, state v1alpha1.BatchJobState) finding {
	run := j.Run()
	podsUntil := o.PodsUntil(run)
	switch {
	case !j.StalledSince.IsZero():
		return finding{v1alpha1.ReasonStalled, j.Reason}
	case run != nil && j.State != lifecycle.Running:
		bound := cmp.Or(o.SubmitTimeout, lifecycle.Timeout)
		return finding{string(state), fmt.Sprintf("the run fails at %s unless it runs by then (submitTimeout %s)",
			run.Submitted.Add(bound).UTC().Format(time.RFC3339), bound)}
	case o.Claimed && !podsUntil.IsZero():
		return finding{string(state), fmt.Sprintf("pods that are being deleted (%d) keep the job's slots until %s at the latest (stallTimeout %s)",
			o.Pods.Live, podsUntil.Format(time.RFC3339), cmp.Or(o.StallTimeout, lifecycle.Timeout))}
	}
	return unless(j.State == lifecycle.Running, state)
}

// webhookMissing reports whether a pod of the last run is not as the application has it.
func (v *jobFacts) webhookMissing() bool {
	adapter, err := workload.Of(&v.Job.Spec)
	return err == nil && podFault(adapter, v.Pods, int(lastAttempt(&v.Job.Status))) == v1alpha1.ReasonWebhookMissing
}

// unless is the state as the reason for a condition's being false.
func unless(holds bool, state v1alpha1.BatchJobState) finding {
	if holds {
		return finding{}
	}
	return finding{Reason: string(state)}
}

// setApplication writes what is seen of the child. What was seen last stays while the job
// is not ready again.
func (v *jobFacts) setApplication(status *v1alpha1.BatchJobStatus) {
	adapter, err := workload.Of(&v.Job.Spec)
	if err != nil {
		return
	}
	apiVersion, kind := adapter.Kind().ToAPIVersionAndKind()
	switch {
	case v.Child != nil:
		s := adapter.Status(v.Child)
		status.Application = &v1alpha1.Application{
			APIVersion: apiVersion, Kind: kind, Name: v.Child.GetName(), UID: v.Child.GetUID(),
			State: cut(s.State, 253), Message: shortReason(s.Message),
		}
		if at := v.Child.GetDeletionTimestamp(); at != nil && len(v.Child.GetFinalizers()) > 0 {
			status.Application.Message = shortReason(fmt.Sprintf("being deleted since %s, held by its finalizers %s",
				at.UTC().Format(time.RFC3339), strings.Join(v.Child.GetFinalizers(), ", ")))
		}
	case status.Application == nil || status.State == v1alpha1.BatchJobReady:
		status.Application = &v1alpha1.Application{APIVersion: apiVersion, Kind: kind}
	}
}

// setChecked writes what a trial of the application has said: nothing against it, or why
// it is refused.
func setChecked(job *v1alpha1.BatchJob, refused finding, now time.Time) {
	c := conditions{&job.Status.Conditions, job.Generation, now}
	c.set(v1alpha1.BatchJobValid, reasonAccepted, refused)
}

// setUnchecked writes that the application is to be tried (again), and what keeps it from
// being tried.
func setUnchecked(job *v1alpha1.BatchJob, message string, now time.Time) {
	c := conditions{&job.Status.Conditions, job.Generation, now}
	c.put(v1alpha1.BatchJobValid, metav1.ConditionUnknown, reasonUnchecked, message)
}

// acquireJob makes the Scheduling the job's active one. The application is to be tried for it
// unless it was accepted as it stands.
func acquireJob(job *v1alpha1.BatchJob, s *v1alpha1.Scheduling, now time.Time) {
	job.Status.ActiveScheduling = &v1alpha1.ObjectReference{Namespace: s.Namespace, Name: s.Name, UID: s.UID}
	if !isAccepted(job) {
		setUnchecked(job, "", now)
	}
}

// nextStatus is what the Scheduling's status is to be after a step, by what it finds of
// feasibility.
func (v *schedulingView) nextStatus(s *lifecycle.Scheduling, o *lifecycle.SchedulingObserved, feasible finding, now time.Time) *v1alpha1.SchedulingStatus {
	status := v.Scheduling.Status.DeepCopy()
	storeScheduling(status, s)
	generation := v.Scheduling.Generation
	status.ObservedGeneration = generation
	c := conditions{&status.Conditions, generation, now}
	if !over(s, o) {
		c.set(v1alpha1.SchedulingFeasible, v1alpha1.SchedulingFeasible, feasible)
	}
	status.Jobs = v.jobs(o)
	view := *v
	view.Scheduling = &v1alpha1.Scheduling{ObjectMeta: v.Scheduling.ObjectMeta, Spec: v.Scheduling.Spec, Status: *status}
	status.Reason = shortReason(view.reason(s, o, feasible, now))
	acquired := finding{}
	switch {
	case v.Reserves && len(o.Lacking()) > 0:
		acquired = finding{reasonClaiming, "it takes its jobs as they get slots"}
	case s.Started.IsZero():
		acquired = finding{reasonWaiting, cmp.Or(status.Reason, "not all of its jobs are acquired yet")}
	case len(o.Lacking()) > 0:
		acquired = finding{reasonWaiting, cmp.Or(status.Reason, "jobs that were added are not acquired yet")}
	}
	c.set(v1alpha1.SchedulingAcquired, reasonAcquired, acquired)
	if !c.holds(v1alpha1.SchedulingSpecAccepted) {
		c.set(v1alpha1.SchedulingSpecAccepted, reasonAccepted, v.accepted(v.submittedSlots))
	}
	completed := finding{Reason: string(status.State)}
	switch s.State {
	case lifecycle.New:
		completed.Reason = reasonWaiting
	case lifecycle.SchedulingCompleted:
		completed = finding{}
	case lifecycle.SchedulingFailed:
		completed.Message = cmp.Or(status.Reason, "a job has failed")
	default:
		completed.Message = status.Reason
	}
	if s.State == lifecycle.SchedulingCompleted && status.Reason != "" {
		c.put(v1alpha1.SchedulingIsCompleted, metav1.ConditionTrue, reasonJobsFailed, status.Reason)
	} else {
		c.set(v1alpha1.SchedulingIsCompleted, string(v1alpha1.SchedulingCompleted), completed)
	}
	return status
}

// over reports whether the scheduling wants nothing more: what exists does not matter to it then.
func over(s *lifecycle.Scheduling, o *lifecycle.SchedulingObserved) bool {
	return s.State > lifecycle.SchedulingCompleted || s.State == lifecycle.SchedulingCompleted && len(o.Lacking()) == 0
}

// submittedSlots are those that a job of the Scheduling's has, nil of one that has yet to
// be submitted.
func (v *schedulingView) submittedSlots(name testbed.Name) []string {
	job := v.Job(keyOf(name))
	if job == nil || !hasJob(v.Scheduling, job) {
		return nil
	}
	if c := claimOfJob(v.Testbed, job.UID); c != nil {
		return c.Slots
	}
	if job.Status.CreationRequest != nil {
		return job.Status.CreationRequest.Slots
	}
	return nil
}

// jobs is how far the jobs are. Of those that have ended slots are listed as far as they
// go into an object.
func (v *schedulingView) jobs(o *lifecycle.SchedulingObserved) []v1alpha1.SchedulingJob {
	var all []v1alpha1.SchedulingJob
	total := 0
	for _, claimed := range []bool{true, false} {
		for i := range o.Members {
			m := &o.Members[i]
			if claimed {
				all = append(all, v.member(m))
			}
			if !m.Held {
				continue
			}
			if m.Claimed != claimed {
				continue
			}
			slots := v.submittedSlots(m.Job)
			if total += len(slots); total <= v1alpha1.MaxRunSlots {
				all[i].Slots = slots
			}
		}
	}
	return all
}

// member is how a job is, without its slots. How one that is deleted ended stays.
func (v *schedulingView) member(m *lifecycle.Member) v1alpha1.SchedulingJob {
	j := v1alpha1.SchedulingJob{Name: m.Job.Name, Namespace: m.Job.Namespace}
	job, last := v.Job(keyOf(m.Job)), v.record(m.Job)
	goes := job == nil || job.DeletionTimestamp != nil && m.Held
	switch {
	case m.Lost:
		j.State, j.Reason = v1alpha1.BatchJobFailed, reasonDeleted+" before it ended"
	case goes && last != nil && hasEnded(last.State):
		j.State, j.Reason = last.State, last.Reason
	case m.Held:
		j.State = v1alpha1.BatchJobState(m.State.String())
		if m.State == lifecycle.Failed {
			j.Reason = job.Status.Reason
		}
	}
	return j
}

// conditions are those of an object of a generation.
type conditions struct {
	all        *[]metav1.Condition
	generation int64
	now        time.Time
}

// set makes a condition true, for the reason given, or false by a verdict.
func (c conditions) set(kind, reason string, against finding) {
	if against.OK() {
		c.put(kind, metav1.ConditionTrue, reason, against.Message)
		return
	}
	c.put(kind, metav1.ConditionFalse, against.Reason, against.Message)
}

func (c conditions) put(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.all, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: cut(message, maxMessage),
		ObservedGeneration: c.generation, LastTransitionTime: metav1.Time{Time: c.now.UTC().Truncate(time.Second)},
	})
}

// maxMessage is how many bytes of a message a condition keeps; it may have 32768.
const maxMessage = 4096

// holds reports whether a condition has been found to be true of this generation.
func (c conditions) holds(kind string) bool {
	found := meta.FindStatusCondition(*c.all, kind)
	return found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == c.generation
}
