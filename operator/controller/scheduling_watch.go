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
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/observe"
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
	return builder.ControllerManagedBy(mgr).Named(Scheduling).For(&v1alpha1.Scheduling{}).
		Watches(&v1alpha1.Scheduling{}, handler.Funcs{
			CreateFunc: func(ctx context.Context, e event.CreateEvent, q requestQueue) { r.rivalChanged(ctx, nil, e.Object, q) },
			UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requestQueue) {
				r.rivalChanged(ctx, e.ObjectOld, e.ObjectNew, q)
			},
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requestQueue) { r.rivalChanged(ctx, nil, e.Object, q) },
		}).
		Watches(&v1alpha1.BatchJob{}, handler.Funcs{
			CreateFunc: func(ctx context.Context, e event.CreateEvent, q requestQueue) { r.jobChanged(ctx, nil, e.Object, q) },
			UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requestQueue) {
				r.jobChanged(ctx, e.ObjectOld, e.ObjectNew, q)
			},
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requestQueue) { r.jobGone(ctx, e.Object, q) },
		}).
		Watches(&v1alpha1.Testbed{}, handler.Funcs{
			CreateFunc: func(ctx context.Context, e event.CreateEvent, q requestQueue) {
				r.testbedChanged(ctx, nil, e.Object, q)
			},
			UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requestQueue) {
				r.testbedChanged(ctx, e.ObjectOld, e.ObjectNew, q)
			},
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requestQueue) {
				r.testbedChanged(ctx, nil, e.Object, q)
			},
		}).
		WithOptions(controller.Options{MaxConcurrentReconciles: schedulingWorkers}).
		Complete(r)
}

// abreast is after what time a Scheduling says how far its jobs are: they change together,
// and who gives them slots looks at them itself.
const abreast = 250 * time.Millisecond

// jobChanged has the Schedulings looked at that list a job, and those that have or had it,
// after a while in which others of their jobs change too. For one that can be had again
// somebody may wait.
func (r *schedulings) jobChanged(ctx context.Context, before, after client.Object, q requestQueue) {
	was, _ := before.(*v1alpha1.BatchJob)
	is, ok := after.(*v1alpha1.BatchJob)
	if !ok || was != nil && sameMember(was, is) {
		return
	}
	all := r.by(ctx, schedulingJob, observe.NameOf(is).String())
	for _, job := range []*v1alpha1.BatchJob{was, is} {
		if job != nil && job.Status.ActiveScheduling != nil {
			active := job.Status.ActiveScheduling
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: active.Namespace, Name: active.Name}})
		}
	}
	wait := abreast
	if observe.Available(is) {
		wait = batch
	}
	for _, request := range all {
		q.AddAfter(request, wait)
	}
}

// jobGone is jobChanged of a job that was deleted.
func (r *schedulings) jobGone(ctx context.Context, job client.Object, q requestQueue) {
	r.written.forget(client.ObjectKeyFromObject(job))
	r.jobChanged(ctx, nil, job, q)
}

// sameMember says whether a job is what it was, as far as Schedulings can tell.
func sameMember(was, is *v1alpha1.BatchJob) bool {
	a, b := &was.Status, &is.Status
	valid := func(s *v1alpha1.BatchJobStatus) *metav1.Condition {
		return meta.FindStatusCondition(s.Conditions, v1alpha1.BatchJobValid)
	}
	return was.UID == is.UID && was.Generation == is.Generation && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) &&
		a.State == b.State && equality.Semantic.DeepEqual(a.ActiveScheduling, b.ActiveScheduling) &&
		equality.Semantic.DeepEqual(a.CreationRequest, b.CreationRequest) && a.NotBefore.Equal(b.NotBefore) &&
		equality.Semantic.DeepEqual(valid(a), valid(b))
}

// rivalChanged has those looked at that want the same jobs: a Scheduling before them may
// have come, gone, or changed its mind.
func (r *schedulings) rivalChanged(ctx context.Context, before, after client.Object, q requestQueue) {
	was, _ := before.(*v1alpha1.Scheduling)
	is, ok := after.(*v1alpha1.Scheduling)
	if !ok || was != nil && sameWishes(was, is) {
		return
	}
	listed := observe.Names(is)
	if was != nil {
		listed = append(listed, observe.Names(was)...)
	}
	seen := make(map[testbed.Name]bool)
	for _, job := range listed {
		if seen[job] {
			continue
		}
		seen[job] = true
		for _, request := range r.by(ctx, schedulingJob, job.String()) {
			if request.NamespacedName != client.ObjectKeyFromObject(is) {
				q.Add(request)
			}
		}
	}
}

// sameWishes says whether a Scheduling wants the jobs that it wanted before, as far as
// others can tell.
func sameWishes(was, is *v1alpha1.Scheduling) bool {
	feasible := func(s *v1alpha1.Scheduling) bool {
		return meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.SchedulingFeasible)
	}
	return was.UID == is.UID && was.Generation == is.Generation && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) &&
		was.Status.State == is.Status.State && feasible(was) == feasible(is) && observe.Reserves(was) == observe.Reserves(is)
}

// testbedChanged has the Schedulings of a Testbed looked at that what has changed there
// concerns.
func (r *schedulings) testbedChanged(ctx context.Context, before, after client.Object, q requestQueue) {
	was, _ := before.(*v1alpha1.Testbed)
	is, ok := after.(*v1alpha1.Testbed)
	if !ok {
		return
	}
	if was == nil || !sameSlotsAndRights(was, is) {
		for _, request := range r.by(ctx, schedulingTestbed, observe.NameOf(is).String()) {
			q.Add(request)
		}
		return
	}
	changed := changedClaims(was, is)
	for _, c := range changed {
		if name, err := testbed.ParseName(c.Scheduling); err == nil {
			q.AddAfter(reconcile.Request{NamespacedName: observe.Key(name)}, abreast)
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
	if err := r.cached.List(ctx, &listed, client.MatchingFields{schedulingTestbed: observe.NameOf(tb).String()}, client.UnsafeDisableDeepCopy); err != nil {
		r.logger.Error("schedulings can't be listed", "testbed", observe.NameOf(tb).String(), "error", err)
	}
	for i := range listed.Items {
		if s := &listed.Items[i]; s.Status.State == v1alpha1.SchedulingSubmitting && s.Status.Reason != "" {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}, explainAfter)
		}
	}
}

func sameSlotsAndRights(was, is *v1alpha1.Testbed) bool {
	return was.UID == is.UID && was.Generation == is.Generation && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) &&
		was.Status.ExclusiveFor == is.Status.ExclusiveFor && slices.Equal(was.Status.Nodes, is.Status.Nodes)
}

func (r *schedulings) by(ctx context.Context, index, value string) []reconcile.Request {
	var listed v1alpha1.SchedulingList
	if err := r.cached.List(ctx, &listed, client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		r.logger.Error("schedulings can't be listed", "index", index, "error", err)
		return nil
	}
	return requests(listed.Items, func(s *v1alpha1.Scheduling) metav1.Object { return s })
}
