package controller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// jobFacts is all that is to be known of a BatchJob for its next step.
type jobFacts struct {
	Job *v1alpha1.BatchJob
	// Scheduling has the name of the active one; nil if there is none of that name.
	Scheduling *v1alpha1.Scheduling
	// Claim is the job's, nil if it has none.
	Claim *v1alpha1.Claim
	// Child is the job's application of attempt LastAttempt, nil if it is not there.
	Child *unstructured.Unstructured
	// Pods are those with the label of the job's UID.
	Pods []corev1.Pod
	// Fault is what is known to be wrong beside what the pods show.
	Fault string
}

// lastAttempt is that of the run which is under way, is about to be, or was the last; 0
// if there was none.
func lastAttempt(status *v1alpha1.BatchJobStatus) int32 {
	var attempt int32
	if status.CreationRequest != nil {
		attempt = status.CreationRequest.Attempt
	}
	if n := len(status.Runs); n > 0 {
		attempt = max(attempt, status.Runs[n-1].Attempt)
	}
	return attempt
}

// Observed is what a step of the job decides on, and the pods of its last attempt.
func (v *jobFacts) observe() (lifecycle.JobObserved, v1alpha1.PodCounts, error) {
	spec, status := &v.Job.Spec, &v.Job.Status
	stored, err := storedJob(status)
	if err != nil {
		return lifecycle.JobObserved{}, v1alpha1.PodCounts{}, err
	}
	o := lifecycle.JobObserved{
		Stored: stored, Wanted: isWanted(v.Job, v.Scheduling), Claimed: v.Claim != nil,
		Deleting: v.Job.DeletionTimestamp != nil, Finalizer: hasFinalizer(v.Job, v1alpha1.FinalizerApplication),
		Fault:      v.Fault,
		RetryLimit: int(spec.Retry.Limit), RetryDelay: duration(spec.Retry.Delay), SubmitTimeout: duration(spec.SubmitTimeout), StallTimeout: duration(spec.StallTimeout),
	}
	o.Check, o.Problem = checkOf(v.Job)
	attempt := int(lastAttempt(status))
	expected := expectedPods(status)
	if adapter, err := workload.Of(spec); err == nil {
		if v.Child != nil {
			o.Application = application(adapter, v.Child, attempt)
			expected = cmp.Or(int(adapter.Pods(v.Child)), expected)
		}
		o.Fault = cmp.Or(o.Fault, podFault(adapter, v.Pods, attempt))
	}
	var counts v1alpha1.PodCounts
	o.Pods, counts = countPods(v.Pods, attempt, expected)
	return o, counts, nil
}

// expectedPods is one a slot, where the child does not say.
func expectedPods(status *v1alpha1.BatchJobStatus) int {
	if status.CreationRequest != nil {
		return int(status.CreationRequest.Replication)
	}
	if n := len(status.Runs); n > 0 {
		return len(status.Runs[n-1].Slots)
	}
	return 0
}

// isWanted reports whether the scheduling, which is nil if there is none, is the job's active
// one, lists the job and is not on its way out.
func isWanted(job *v1alpha1.BatchJob, s *v1alpha1.Scheduling) bool {
	active := job.Status.ActiveScheduling
	if active == nil || s == nil || s.UID != active.UID || s.DeletionTimestamp != nil {
		return false
	}
	return slices.Contains(jobNames(s), nameOf(job))
}

// hasFinalizer reports whether an object waits for us.
func hasFinalizer(o metav1.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}

// duration is what is asked for, 0 for nothing: of no length is next to none, for 0 is
// the default.
func duration(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return max(d.Duration, 1)
}

// application is the child as it is observed.
func application(adapter *workload.Adapter, child *unstructured.Unstructured, attempt int) lifecycle.Application {
	status := adapter.Status(child)
	a := lifecycle.Application{
		UID: string(child.GetUID()), Attempt: attempt, Phase: lifecycle.Pending, Finished: status.Finished.UTC(),
		Created: child.GetCreationTimestamp().UTC(), State: strings.Trim(status.State+": "+status.Message, ": "),
	}
	if at := child.GetDeletionTimestamp(); at != nil {
		a.Deleting, a.DeletedAt = true, at.UTC()
	}
	switch status.Phase {
	case workload.Running:
		a.Phase = lifecycle.Active
	case workload.Succeeded:
		a.Phase = lifecycle.Succeeded
	case workload.Failed:
		a.Phase = lifecycle.Ended
		a.Reason = cmp.Or(status.Message, status.State)
	}
	return a
}

// podFault is what is wrong with a pod of the run, so that it will never be placed.
func podFault(adapter *workload.Adapter, pods []corev1.Pod, attempt int) string {
	for i := range pods {
		if attemptOf(&pods[i]) != attempt || !isLive(&pods[i]) {
			continue
		}
		if err := adapter.CheckPod(&pods[i]); err != nil {
			return workload.Reason(err)
		}
	}
	return ""
}

// checkOf is what is known of the application's being accepted, and why it is not. It is
// of one generation of the job: after an edit it is to be asked again.
func checkOf(job *v1alpha1.BatchJob) (lifecycle.Check, string) {
	c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobValid)
	switch {
	case c == nil || c.ObservedGeneration != job.Generation:
		return lifecycle.Unchecked, ""
	case c.Status == metav1.ConditionTrue:
		return lifecycle.Valid, ""
	case c.Status != metav1.ConditionFalse:
		return lifecycle.Unchecked, ""
	case c.Reason == v1alpha1.ReasonOperatorMissing:
		return lifecycle.Unavailable, ""
	case c.Reason == v1alpha1.ReasonWebhookMissing:
		return lifecycle.Valid, "" // it was accepted; what came of it was not as it said
	}
	return lifecycle.Invalid, c.Reason + ": " + c.Message
}

// isAccepted reports whether the application was tried as it stands, and accepted.
func isAccepted(job *v1alpha1.BatchJob) bool {
	c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobValid)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == job.Generation
}

// isUndrafted reports whether the job is available, and nothing is known about its application as
// it stands.
func isUndrafted(job *v1alpha1.BatchJob) bool {
	known, _ := checkOf(job)
	return known == lifecycle.Unchecked && isAvailable(job)
}

// refusedVerdict is why the job's application would be refused wherever it ran; OK if it was not
// tried as it stands, or only one Testbed's slots were found too small.
func refusedVerdict(job *v1alpha1.BatchJob) finding {
	c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobValid)
	if known, _ := checkOf(job); known != lifecycle.Invalid || c.Reason == v1alpha1.ReasonSlotTooSmall {
		return finding{}
	}
	return finding{c.Reason, c.Message}
}

// errNoRequest means that no application can be tried without something that is not there.
var errNoRequest = errors.New("nothing can be tried")

// trialRequest is what the job would be created with if it were granted slots now: to
// try it before it has a claim. The slots themselves are none yet; for a job that no
// storedScheduling has it is a draft, without what a slot holds.
func trialRequest(job *v1alpha1.BatchJob, s *v1alpha1.Scheduling, tb *v1alpha1.Testbed) (*v1alpha1.CreationRequest, error) {
	if job.Status.CreationRequest != nil {
		return job.Status.CreationRequest, nil
	}
	switch {
	case isAvailable(job) && (s == nil || tb == nil):
		return draft(job), nil
	case s == nil:
		name := testbed.Name{}
		if active := job.Status.ActiveScheduling; active != nil {
			name = refName(active)
		}
		return nil, fmt.Errorf("%w: the Scheduling %s is not there", errNoRequest, name)
	case tb == nil:
		return nil, fmt.Errorf("%w: the Testbed %s of the Scheduling %s is not there", errNoRequest, s.TestbedKey(), nameOf(s))
	}
	return &v1alpha1.CreationRequest{
		Testbed:   v1alpha1.ObjectReference{Namespace: tb.Namespace, Name: tb.Name, UID: tb.UID},
		Resources: tb.Spec.ResourcesPerSlot.DeepCopy(), Replication: int32(max(1, wanted(s)[nameOf(job)].n)),
		Attempt: lastAttempt(&job.Status) + 1,
	}, nil
}

// draft is a request for a slot of no size, of no Testbed.
func draft(job *v1alpha1.BatchJob) *v1alpha1.CreationRequest {
	return &v1alpha1.CreationRequest{
		Testbed:     v1alpha1.ObjectReference{Namespace: job.Namespace, Name: "none", UID: "none"},
		Replication: 1, Attempt: lastAttempt(&job.Status) + 1,
	}
}

// requestOf is what a job is to be created with by its claim.
func requestOf(job *v1alpha1.BatchJob, tb *v1alpha1.Testbed, c *v1alpha1.Claim) *v1alpha1.CreationRequest {
	return &v1alpha1.CreationRequest{
		Testbed: v1alpha1.ObjectReference{Namespace: tb.Namespace, Name: tb.Name, UID: tb.UID},
		Slots:   slices.Clone(c.Slots), Resources: tb.Spec.ResourcesPerSlot.DeepCopy(), Replication: int32(len(c.Slots)),
		Attempt: lastAttempt(&job.Status) + 1,
	}
}
