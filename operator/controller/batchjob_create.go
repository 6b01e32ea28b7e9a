package controller

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// reasonTaken is the fault of a run whose application's name is somebody else's.
const reasonTaken = "ApplicationNameTaken"

// checks reports whether the application is to be tried: where the step asks for it, where its
// operator was missing, and once, as far as that can be without a slot, for a job that no
// Scheduling has.
func (p *jobPass) checks(actions []lifecycle.JobAction) bool {
	for _, a := range actions {
		if a.Op == lifecycle.CheckApplication {
			return true
		}
	}
	return p.unavailable() || isUndrafted(p.view.Job)
}

// unavailable reports whether the operator is missing that would run the application of a job
// in a queue, or of one that no Scheduling has.
func (p *jobPass) unavailable() bool {
	job := p.view.Job
	valid := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobValid)
	waits := job.Status.State == v1alpha1.BatchJobInQueue || isAvailable(job)
	return waits && valid != nil && valid.Reason == v1alpha1.ReasonOperatorMissing
}

// check tries the creation of the application without effect, and notes in the job's
// conditions what the API server says.
func (p *jobPass) check(ctx context.Context) {
	v := p.view
	v.checked = true
	verdict, err := p.trial.of(ctx, v.Job, v.Scheduling, v.testbed)
	if isUndrafted(v.Job) && err != nil {
		return // it is tried again once somebody has the job
	}
	if err == nil {
		setChecked(v.Job, verdict, p.now)
		return
	}
	setUnchecked(v.Job, err.Error(), p.now)
	if v.adrift = errors.Is(err, errNoRequest); !v.adrift {
		v.trouble = err
	}
}

// trial tries the creation of applications without effect. Safe for concurrent use.
type trial struct {
	client client.Client
	mapper meta.RESTMapper
}

// of returns why the job's application would be refused if the scheduling were granted
// slots of the testbed now, or nothing. An error is of a trial that said nothing. The API
// server is not asked again about one that it has accepted: whether it fits in a slot is
// known here, and the creation itself is the last trial.
func (t trial) of(ctx context.Context, job *v1alpha1.BatchJob, s *v1alpha1.Scheduling, tb *v1alpha1.Testbed) (finding, error) {
	adapter, err := workload.Of(&job.Spec)
	if err != nil {
		return finding{Reason: workload.Reason(err), Message: err.Error()}, nil
	}
	if known, err := knows(t.mapper, adapter); err != nil {
		return finding{}, err
	} else if !known {
		return operatorMissing(adapter), nil
	}
	request, err := trialRequest(job, s, tb)
	if err != nil {
		return finding{}, err
	}
	child, err := adapter.Child(job, request)
	if err != nil {
		return finding{Reason: workload.Reason(err), Message: err.Error()}, nil
	}
	if isAccepted(job) {
		return finding{}, nil
	}
	err = t.client.Create(ctx, child, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if verdict, known := judge(adapter, err); known {
		return verdict, nil
	}
	return finding{}, err
}

func operatorMissing(adapter *workload.Adapter) finding {
	apiVersion, kind := adapter.Kind().ToAPIVersionAndKind()
	return finding{
		Reason: v1alpha1.ReasonOperatorMissing, Message: "the API server knows no " + kind + " of " + apiVersion + ": is its operator installed?",
	}
}

// judge says what the API server's answer to a creation means for the application. What
// may be another answer the next time says nothing.
func judge(adapter *workload.Adapter, err error) (verdict finding, known bool) {
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return finding{}, true
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return operatorMissing(adapter), true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return finding{}, false
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err), apierrors.IsRequestEntityTooLargeError(err):
		return finding{Reason: v1alpha1.ReasonInvalidApplication, Message: err.Error()}, true
	}
	return finding{}, false
}

// create creates the application of the job's request. What is there already is as good,
// if it is the job's.
func (p *jobPass) create(ctx context.Context) (fault string, err error) {
	v := p.view
	adapter := adapterOf(v.Job)
	if adapter == nil || v.Job.Status.CreationRequest == nil {
		return v1alpha1.ReasonInvalidApplication, nil
	}
	child, err := adapter.Child(v.Job, v.Job.Status.CreationRequest)
	if err != nil {
		return p.refuse(finding{Reason: workload.Reason(err), Message: err.Error()}), nil
	}
	err = p.client.Create(ctx, child, client.FieldValidation(metav1.FieldValidationStrict))
	if apierrors.IsAlreadyExists(err) {
		return p.claimName(ctx, child)
	}
	verdict, known := judge(adapter, err)
	switch {
	case !known:
		p.recorder.Eventf(v.Job, nil, corev1.EventTypeWarning, "CreateFailed", "CreateApplication", "%s", note(err.Error()))
		return "", err
	case verdict.OK():
		v.Child, p.created = child, true
		p.creations.set(client.ObjectKeyFromObject(v.Job), creation{
			v.Job.UID, child.GetUID(), lastAttempt(&v.Job.Status), p.batchJobs.now().Add(creationQuiet),
		})
		return "", nil
	}
	return p.refuse(verdict), nil
}

// creation is the application that was created last for a job. Until the job's run has its UID
// stored, this is how an application that is deleted at once is known to be lost: it is not made
// again.
type creation struct {
	job, application types.UID
	attempt          int32
	// quietUntil is until when the job is left alone.
	quietUntil time.Time
}

// recall sets the UID of the run's application by what was created, if it is there no more.
func (c *creation) recall(job *v1alpha1.BatchJob) {
	n := len(job.Status.Runs)
	if n == 0 || c.job != job.UID {
		return
	}
	if run := &job.Status.Runs[n-1]; run.Attempt == c.attempt && run.Outcome == "" && run.Application == "" {
		run.Application = c.application
	}
}

// refuse notes why the application can't be created, and returns it as a run's fault.
func (p *jobPass) refuse(verdict finding) string {
	setChecked(p.view.Job, verdict, p.now)
	return verdict.Reason + ": " + verdict.Message
}

// claimName says whose the object is that has the application's name.
func (p *jobPass) claimName(ctx context.Context, child *unstructured.Unstructured) (fault string, err error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(child.GroupVersionKind())
	if err := p.live.Get(ctx, client.ObjectKeyFromObject(child), there); err != nil {
		return "", err
	}
	if metav1.IsControlledBy(there, p.view.Job) {
		p.view.Child = there
		return "", nil
	}
	return reasonTaken, nil
}
