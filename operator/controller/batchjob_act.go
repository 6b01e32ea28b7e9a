package controller

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// store writes the finalizer and the status before anything is done by them, and reports
// whether there was something to write.
func (p *jobPass) store(ctx context.Context, next *lifecycle.Job, o *lifecycle.JobObserved, counts v1alpha1.PodCounts, actions []lifecycle.JobAction) (bool, error) {
	v, wrote := p.view, false
	for _, a := range actions {
		if a.Op != lifecycle.AddJobFinalizer {
			continue
		}
		status := v.Job.Status.DeepCopy() // the answer has the stored one
		if err := finalize(ctx, p.client, v.Job, v1alpha1.FinalizerApplication, controllerutil.AddFinalizer); err != nil {
			return false, err
		}
		v.Job.Status, wrote = *status, true
		p.written.note(v.Job)
	}
	status := v.nextStatus(next, o, counts, p.now)
	if equality.Semantic.DeepEqual(&v.stored, status) {
		return wrote, nil
	}
	job := v.Job.DeepCopy()
	job.Status = *status
	if err := p.client.Status().Update(ctx, job); err != nil {
		return false, err
	}
	p.written.note(job)
	p.report(&v.stored, job)
	v.Job, v.stored = job, *job.Status.DeepCopy()
	return true, nil
}

// act carries out the step's actions. A fault is why no application can be created.
func (p *jobPass) act(ctx context.Context, actions []lifecycle.JobAction) (fault string, err error) {
	for _, a := range actions {
		switch a.Op {
		case lifecycle.CreateApplication:
			fault, err = p.create(ctx)
		case lifecycle.DeleteApplication:
			err = p.deleteChild(ctx)
		case lifecycle.FreeSlots:
			err = p.freeSlots(ctx)
		case lifecycle.RemoveJobFinalizer:
			err = finalize(ctx, p.client, p.view.Job, v1alpha1.FinalizerApplication, controllerutil.RemoveFinalizer)
		case lifecycle.WakeJob:
			p.wake(a.At)
		}
		if fault != "" || err != nil {
			return fault, err
		}
	}
	if p.view.strange() {
		return "", p.freeSlots(ctx)
	}
	return "", nil
}

// deleteChild deletes the application that is there, and no other of its name.
func (p *jobPass) deleteChild(ctx context.Context) error {
	child := p.view.Child
	uid := child.GetUID()
	err := p.client.Delete(ctx, child.DeepCopy(), client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	p.gone = apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
	if p.gone {
		return nil
	}
	return err
}

// orphans are the pods that an application has left behind, which nothing else may delete.
func (v *jobView) orphans(job *lifecycle.Job) []*corev1.Pod {
	if v.Child != nil && v.Child.GetDeletionTimestamp() == nil {
		return nil
	}
	attempt := -1
	if run := job.Run(); run != nil {
		attempt = run.Attempt
	}
	var all []*corev1.Pod
	for i := range v.Pods {
		pod := &v.Pods[i]
		if isLive(pod) && pod.DeletionTimestamp == nil && attemptOf(pod) != attempt {
			all = append(all, pod)
		}
	}
	return all
}

func (p *jobPass) deletePods(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		uid := pod.UID
		if err := p.client.Delete(ctx, pod.DeepCopy(), client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return err
		}
		p.recorder.Eventf(p.view.Job, pod, corev1.EventTypeNormal, "DeletedPod", "DeletePod", "deleted pod %s, whose application is gone", pod.Name)
	}
	return nil
}

// freeSlots ends the job's claim as it was seen, and no other.
func (p *jobPass) freeSlots(ctx context.Context) error {
	v := p.view
	if v.Claim == nil {
		return nil
	}
	_, err := p.releases.ask(ctx, client.ObjectKeyFromObject(v.testbed), release{v.Job.UID, v.Claim.SchedulingUID, v.Claim.Slots})
	return err
}

// release ends claims of a Testbed, each only if it is still as it was seen.
func (r *batchJobs) release(ctx context.Context, name types.NamespacedName, all []release) (struct{}, error) {
	return struct{}{}, updateTestbed(ctx, r.client, r.live, name, func(tb *v1alpha1.Testbed) bool {
		before := len(tb.Status.Claims)
		tb.Status.Claims = slices.DeleteFunc(tb.Status.Claims, func(c v1alpha1.Claim) bool {
			return slices.ContainsFunc(all, func(r release) bool {
				return r.job == c.BatchJobUID && r.scheduling == c.SchedulingUID && slices.Equal(r.slots, c.Slots)
			})
		})
		return len(tb.Status.Claims) < before
	})
}

// report reports and counts what a job has come to.
func (p *jobPass) report(before *v1alpha1.BatchJobStatus, job *v1alpha1.BatchJob) {
	after := &job.Status
	if problem := turnedFalse(before.Conditions, after.Conditions, v1alpha1.BatchJobValid); problem != nil {
		p.recorder.Eventf(job, nil, corev1.EventTypeWarning, problem.Reason, "CheckApplication", "%s", note(problem.Message))
	}
	was, is := meta.FindStatusCondition(before.Conditions, v1alpha1.BatchJobOverridden), meta.FindStatusCondition(after.Conditions, v1alpha1.BatchJobOverridden)
	if is != nil && (was == nil || was.Message != is.Message) {
		p.recorder.Eventf(job, nil, corev1.EventTypeWarning, is.Reason, "CheckApplication", "%s", note(is.Message))
	}
	if run := endedRun(before, after); run != nil {
		p.metrics.runs.WithLabelValues(after.Application.Kind, string(run.Outcome)).Inc()
		kind := corev1.EventTypeNormal
		if run.Outcome == v1alpha1.Failed {
			kind = corev1.EventTypeWarning
		}
		p.recorder.Eventf(job, nil, kind, "Run"+string(run.Outcome), "Run", "run %d: %s", run.Attempt, note(cmp.Or(run.Reason, string(run.Outcome))))
	}
	if before.State != after.State {
		p.logger.Info("a job changed its state", "job", job.Namespace+"/"+job.Name, "from", before.State, "to", after.State, "reason", after.Reason)
	}
}

// endedRun returns the run that has ended between the two, nil if none has.
func endedRun(before, after *v1alpha1.BatchJobStatus) *v1alpha1.Run {
	n := len(after.Runs)
	if n == 0 || after.Runs[n-1].Outcome == "" || after.Application == nil {
		return nil
	}
	last := &after.Runs[n-1]
	if m := len(before.Runs); m > 0 && before.Runs[m-1].Attempt == last.Attempt && before.Runs[m-1].Outcome != "" {
		return nil
	}
	return last
}

// adapterOf returns the adapter of a job, nil if the job's definition would have refused it.
func adapterOf(job *v1alpha1.BatchJob) *workload.Adapter {
	adapter, err := workload.Of(&job.Spec)
	if err != nil {
		return nil
	}
	return adapter
}
