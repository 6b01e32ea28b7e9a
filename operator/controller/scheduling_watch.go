package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
)

// schedulingWorkers are some, as Schedulings that want other jobs need not wait for each
// other.
const schedulingWorkers = 4

// addScheduling adds the controller of Schedulings.
func addScheduling(mgr manager.Manager, o Options, m *metrics) error {
	r := &schedulings{
		client: mgr.GetClient(), cached: mgr.GetCache(), live: mgr.GetAPIReader(), trial: trial{mgr.GetClient(), mgr.GetRESTMapper()},
		recorder: mgr.GetEventRecorder(component), metrics: m, logger: o.Logger, now: time.Now,
	}
	return builder.ControllerManagedBy(mgr).Named("scheduling").For(&v1alpha1.Scheduling{}).
		Watches(&v1alpha1.Scheduling{}, onChange(r.rivalChanged)).
		Watches(&v1alpha1.BatchJob{}, onChange(r.jobChanged)).
		Watches(&v1alpha1.Testbed{}, onChange(r.testbedChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: schedulingWorkers}).
		Complete(r)
}

// jobsQuiet is how long a Scheduling waits before it reports how far its jobs are: they change
// together, and the controller of Testbeds looks at the jobs themselves.
const jobsQuiet = 250 * time.Millisecond

// jobChanged has the Schedulings looked at that list a job, and those that have or had it, after
// a while in which others of their jobs change too. A job that is available may be waited for.
func (r *schedulings) jobChanged(ctx context.Context, before, after client.Object, q requestQueue) {
	was, _ := before.(*v1alpha1.BatchJob)
	is, _ := after.(*v1alpha1.BatchJob)
	if was != nil && is != nil && sameForSchedulings(was, is) {
		return
	}
	name, wait := client.ObjectKeyFromObject(first(after, before)), jobsQuiet
	if is == nil {
		r.written.forget(name)
	}
	all := r.by(ctx, schedulingJob, name.String())
	for _, job := range []*v1alpha1.BatchJob{was, is} {
		if job != nil && job.Status.ActiveScheduling != nil {
			active := job.Status.ActiveScheduling
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: active.Namespace, Name: active.Name}})
		}
	}
	if is == nil || isAvailable(is) {
		wait = batch
	}
	for _, request := range all {
		q.AddAfter(request, wait)
	}
}

// sameForSchedulings reports whether a job is the same in all that Schedulings go by.
func sameForSchedulings(was, is *v1alpha1.BatchJob) bool {
	a, b := &was.Status, &is.Status
	valid := func(s *v1alpha1.BatchJobStatus) *metav1.Condition {
		return meta.FindStatusCondition(s.Conditions, v1alpha1.BatchJobValid)
	}
	return was.UID == is.UID && was.Generation == is.Generation && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) &&
		a.State == b.State && equality.Semantic.DeepEqual(a.ActiveScheduling, b.ActiveScheduling) &&
		equality.Semantic.DeepEqual(a.CreationRequest, b.CreationRequest) && a.NotBefore.Equal(b.NotBefore) &&
		equality.Semantic.DeepEqual(valid(a), valid(b))
}

// rivalChanged has the Schedulings looked at that want the same jobs: a Scheduling before them
// may have come, gone, or been edited.
func (r *schedulings) rivalChanged(ctx context.Context, before, after client.Object, q requestQueue) {
	was, _ := before.(*v1alpha1.Scheduling)
	is, _ := after.(*v1alpha1.Scheduling)
	if was != nil && is != nil && sameForRivals(was, is) {
		return
	}
	own, seen := client.ObjectKeyFromObject(first(after, before)), make(map[testbed.Name]bool)
	for _, s := range []*v1alpha1.Scheduling{is, was} {
		if s == nil {
			continue
		}
		for _, job := range jobNames(s) {
			if seen[job] {
				continue
			}
			seen[job] = true
			for _, request := range r.by(ctx, schedulingJob, job.String()) {
				if request.NamespacedName != own {
					q.Add(request)
				}
			}
		}
	}
}

// sameForRivals reports whether a Scheduling is the same in all that others that want its jobs go by.
func sameForRivals(was, is *v1alpha1.Scheduling) bool {
	feasible := func(s *v1alpha1.Scheduling) bool {
		return meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.SchedulingFeasible)
	}
	return was.UID == is.UID && was.Generation == is.Generation && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) &&
		was.Status.State == is.Status.State && feasible(was) == feasible(is) && isReserving(was) == isReserving(is)
}

// testbedChanged has the Schedulings of a Testbed looked at that its change concerns.
func (r *schedulings) testbedChanged(ctx context.Context, before, after client.Object, q requestQueue) {
	was, _ := before.(*v1alpha1.Testbed)
	is, _ := after.(*v1alpha1.Testbed)
	if was == nil || is == nil || !sameForJobs(was, is) {
		for _, request := range r.by(ctx, schedulingTestbed, client.ObjectKeyFromObject(first(after, before)).String()) {
			q.Add(request)
		}
		return
	}
	changed := changedClaims(was, is)
	for _, c := range changed {
		if name, err := testbed.ParseName(c.Scheduling); err == nil {
			q.AddAfter(reconcile.Request{NamespacedName: keyOf(name)}, jobsQuiet)
		}
	}
	if len(changed) > 0 {
		r.explain(ctx, is, q)
	}
}

// explainAfter is after what time a Scheduling that waits for slots says who has them, when
// that has changed.
const explainAfter = time.Second

// explain has those looked at that wait for something.
func (r *schedulings) explain(ctx context.Context, tb *v1alpha1.Testbed, q requestQueue) {
	var listed v1alpha1.SchedulingList
	if err := r.cached.List(ctx, &listed, client.MatchingFields{schedulingTestbed: nameOf(tb).String()}, client.UnsafeDisableDeepCopy); err != nil {
		r.logger.Error("schedulings can't be listed", "testbed", nameOf(tb).String(), "error", err)
	}
	for i := range listed.Items {
		if s := &listed.Items[i]; s.Status.State == v1alpha1.SchedulingSubmitting && s.Status.Reason != "" {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}, explainAfter)
		}
	}
}

func sameForJobs(was, is *v1alpha1.Testbed) bool {
	return was.UID == is.UID && was.Generation == is.Generation && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) &&
		was.Status.ExclusiveFor == is.Status.ExclusiveFor && slices.Equal(was.Status.Nodes, is.Status.Nodes)
}

func (r *schedulings) by(ctx context.Context, index, value string) []reconcile.Request {
	return requestsBy(ctx, r.cached, r.logger, &v1alpha1.SchedulingList{}, index, value)
}
