package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed"
)

// jobView is a job as it was seen at one time.
type jobView struct {
	jobFacts
	// stored is the job's status as it was read; the job's own is worked on.
	stored v1alpha1.BatchJobStatus
	// testbed has the claim; without a claim it is the scheduling's, nil if there is none.
	testbed *v1alpha1.Testbed
	// reserver is the Scheduling that reserves the job, and has it with the claim; nil if none.
	reserver *v1alpha1.Scheduling
	// live reports whether all this was read from the API server.
	live bool
	// checked reports whether the application was just tried, and trouble is why that had no
	// result. adrift reports whether its Testbed or its Scheduling is missing: no watch wakes
	// the job when that comes back.
	checked, adrift bool
	trouble         error
}

// strange reports whether the job's claim is of a Scheduling that does not have the job, as
// after a decision by a stale cache, and is to end. While something may be in its slots it stays.
func (v *jobView) strange() bool {
	status := &v.Job.Status
	switch {
	case v.Claim == nil || !stray(v.Job, v.Claim):
		return false
	case status.CreationRequest != nil:
		return status.CreationRequest.Testbed.UID != v.testbed.UID
	}
	return status.State == v1alpha1.BatchJobInQueue
}

// stray reports whether the claim is of another Scheduling than the one that has the job.
func stray(job *v1alpha1.BatchJob, c *v1alpha1.Claim) bool {
	active := job.Status.ActiveScheduling
	return active != nil && c.SchedulingUID != active.UID
}

// look reads all that is to be known of a job; nil if it is gone.
func (r *batchJobs) look(ctx context.Context, name types.NamespacedName, from reader) (*jobView, error) {
	job := &v1alpha1.BatchJob{}
	if err := from.Get(ctx, name, job); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	v := &jobView{live: from.live(), stored: *job.Status.DeepCopy()}
	v.Job = job
	if active := job.Status.ActiveScheduling; active != nil {
		s, err := from.scheduling(ctx, types.NamespacedName{Namespace: active.Namespace, Name: active.Name})
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			v.Scheduling = s
		}
	}
	var err error
	if v.testbed, v.Claim, err = r.claim(ctx, v, from); err != nil {
		return nil, err
	}
	if v.reserver, err = reservedBy(ctx, job, v.Claim, from); err != nil {
		return nil, err
	}
	if v.Child, err = r.children.find(ctx, job, from); err != nil {
		return nil, err
	}
	if v.Child == nil {
		made := r.creations.get(name)
		made.recall(job)
	}
	v.Pods, err = from.podsOf(ctx, job)
	return v, err
}

// reservedBy returns the Scheduling of the claim if it reserves the job, else nil.
func reservedBy(ctx context.Context, job *v1alpha1.BatchJob, c *v1alpha1.Claim, from reader) (*v1alpha1.Scheduling, error) {
	if c == nil || !isAvailable(job) {
		return nil, nil
	}
	name, err := testbed.ParseName(c.Scheduling)
	if err != nil {
		return nil, nil // of no Scheduling
	}
	s, err := from.scheduling(ctx, keyOf(name))
	if err != nil || s.UID != c.SchedulingUID || !isReservedFor(s, job) {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}

// claim finds the job's claim; of several, one that is to be given back. Where it may be is
// in the cache or in the job itself.
func (r *batchJobs) claim(ctx context.Context, v *jobView, from reader) (*v1alpha1.Testbed, *v1alpha1.Claim, error) {
	var at, usual *v1alpha1.Testbed
	var found *v1alpha1.Claim
	see := func(tb *v1alpha1.Testbed) {
		if c := claimOfJob(tb, v.Job.UID); c != nil && (found == nil || stray(v.Job, c)) {
			at, found = tb, c
		}
		if usual == nil {
			usual = tb
		}
	}
	names := testbedsOf(v)
	var listed v1alpha1.TestbedList
	if err := r.cached.List(ctx, &listed, client.MatchingFields{testbedClaim: string(v.Job.UID)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, err
	}
	for i := range listed.Items {
		if from.live() {
			names = append(names, client.ObjectKeyFromObject(&listed.Items[i]))
		} else {
			see(&listed.Items[i])
		}
	}
	for i, name := range names {
		if found != nil && !from.live() {
			break
		}
		if slices.Contains(names[:i], name) {
			continue
		}
		tb, err := from.testbed(ctx, name)
		if err == nil {
			see(tb)
		} else if client.IgnoreNotFound(err) != nil {
			return nil, nil, err
		}
	}
	if found == nil {
		at = usual
	}
	return at, found, nil
}

// testbedsOf are the Testbeds that a job may have a claim on: its scheduling's, and those
// of its request and its last run.
func testbedsOf(v *jobView) []types.NamespacedName {
	var names []types.NamespacedName
	if v.Scheduling != nil {
		names = append(names, v.Scheduling.TestbedKey())
	}
	status := &v.Job.Status
	if r := status.CreationRequest; r != nil {
		names = append(names, types.NamespacedName{Namespace: r.Testbed.Namespace, Name: r.Testbed.Name})
	}
	if n := len(status.Runs); n > 0 {
		if name, err := testbed.ParseName(status.Runs[n-1].Testbed); err == nil {
			names = append(names, keyOf(name))
		}
	}
	return names
}

// children finds jobs' applications, of kinds that may come and go with their operators.
// Safe for concurrent use.
type children struct {
	mapper meta.RESTMapper
	// follow has the kind's objects watched, once.
	follow func(*unstructured.Unstructured) error
}

// knows reports whether the API server knows the adapter's kind.
func knows(mapper meta.RESTMapper, adapter *workload.Adapter) (bool, error) {
	kind := adapter.Kind()
	if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return false, err
	}
	return true, nil
}

// find returns the job's application of the last attempt, nil if there is none.
func (c *children) find(ctx context.Context, job *v1alpha1.BatchJob, from reader) (*unstructured.Unstructured, error) {
	adapter, attempt := adapterOf(job), lastAttempt(&job.Status)
	if adapter == nil {
		return nil, nil
	}
	if known, err := knows(c.mapper, adapter); err != nil || !known {
		return nil, err
	}
	child := &unstructured.Unstructured{}
	child.SetGroupVersionKind(adapter.Kind())
	if err := c.follow(child); err != nil {
		return nil, err
	}
	if attempt == 0 {
		return nil, nil
	}
	err := from.Get(ctx, types.NamespacedName{Namespace: job.Namespace, Name: workload.Name(job.Name, attempt)}, child)
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, client.IgnoreNotFound(err)
	case !metav1.IsControlledBy(child, job):
		return nil, nil
	}
	return child, nil
}
