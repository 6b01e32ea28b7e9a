package controller

import (
	"context"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	runtimesource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
)

// jobWorkers are so many since they wait for the API server most of the time.
const jobWorkers = 16

// addBatchJob adds the controller of BatchJobs.
func addBatchJob(mgr manager.Manager, o Options, m *metrics) error {
	r := newBatchJobs(mgr.GetClient(), mgr.GetCache(), mgr.GetAPIReader(), mgr.GetRESTMapper(), mgr.GetEventRecorder(component), m, o.Logger)
	// Jobs are known to every API server. Others' kinds are watched once they are there.
	jobs := &unstructured.Unstructured{}
	jobs.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.BatchJob{}, handler.OnlyControllerOwner())
	c, err := builder.ControllerManagedBy(mgr).Named("batchjob").For(&v1alpha1.BatchJob{}).
		Watches(&v1alpha1.Testbed{}, onChange(r.claimsChanged)).
		Watches(&v1alpha1.Scheduling{}, handler.EnqueueRequestsFromMapFunc(r.jobsHeld), builder.WithPredicates(specChanges)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.jobOfPod)).
		Watches(jobs, owner).
		WithOptions(controller.Options{MaxConcurrentReconciles: jobWorkers}).
		Build(r)
	if err != nil {
		return err
	}
	w := &watches{started: map[schema.GroupVersionKind]bool{jobs.GroupVersionKind(): true}, start: func(kind *unstructured.Unstructured) error {
		return c.Watch(runtimesource.Kind[client.Object](mgr.GetCache(), kind, owner))
	}}
	r.children = &children{mapper: mgr.GetRESTMapper(), follow: w.follow}
	return nil
}

// specChanges passes what matters to a Scheduling's jobs: not how far it says they are.
var specChanges = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, is := e.ObjectOld, e.ObjectNew
	return was.GetUID() != is.GetUID() || was.GetGeneration() != is.GetGeneration() ||
		(was.GetDeletionTimestamp() == nil) != (is.GetDeletionTimestamp() == nil)
}}

// component is who reports events.
const component = "spazio-testbed"

// watches are those of kinds that were not known when the controller started. Safe for
// concurrent use.
type watches struct {
	start   func(*unstructured.Unstructured) error
	mu      sync.Mutex
	started map[schema.GroupVersionKind]bool
}

// follow has the objects of a kind watched.
func (w *watches) follow(like *unstructured.Unstructured) error {
	kind := like.GroupVersionKind()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started[kind] {
		return nil
	}
	watched := &unstructured.Unstructured{}
	watched.SetGroupVersionKind(kind)
	if err := w.start(watched); err != nil {
		return err
	}
	w.started[kind] = true
	return nil
}

// jobsHeld are the jobs that a scheduling has: it may have been deleted, or edited.
func (r *batchJobs) jobsHeld(ctx context.Context, o client.Object) []reconcile.Request {
	return requestsBy(ctx, r.cached, r.logger, &v1alpha1.BatchJobList{}, jobScheduling, string(o.GetUID()))
}

// jobOfPod is the job of a pod.
func (r *batchJobs) jobOfPod(ctx context.Context, o client.Object) []reconcile.Request {
	uid := o.GetLabels()[v1alpha1.LabelBatchJobUID]
	if uid == "" || o.GetLabels()[v1alpha1.LabelRole] != v1alpha1.RoleSlot {
		return nil
	}
	return requestsBy(ctx, r.cached, r.logger, &v1alpha1.BatchJobList{}, jobUID, uid)
}

// claimsChanged has the jobs looked at whose claims have come, gone or changed.
func (r *batchJobs) claimsChanged(_ context.Context, before, after client.Object, q requestQueue) {
	for _, c := range changedClaims(before, after) {
		if name, err := testbed.ParseName(c.BatchJob); err == nil {
			q.Add(reconcile.Request{NamespacedName: keyOf(name)})
		}
	}
}

// changedClaims are the claims that one of the two has, or both have differently, in the order in
// which they were granted: a Scheduling's jobs follow each other, so that of several that get slots
// at once not all have to wait for the last job of all.
func changedClaims(before, after client.Object) []v1alpha1.Claim {
	was, is := claimsByJob(before), claimsByJob(after)
	var changed []v1alpha1.Claim
	for _, c := range claimsOf(after) {
		if old, ok := was[c.BatchJobUID]; !ok || old.SchedulingUID != c.SchedulingUID || !slices.Equal(old.Slots, c.Slots) {
			changed = append(changed, c)
		}
	}
	for _, c := range claimsOf(before) {
		if _, ok := is[c.BatchJobUID]; !ok {
			changed = append(changed, c)
		}
	}
	return changed
}

func claimsByJob(o client.Object) map[types.UID]*v1alpha1.Claim {
	listed := claimsOf(o)
	all := make(map[types.UID]*v1alpha1.Claim, len(listed))
	for i := range listed {
		all[listed[i].BatchJobUID] = &listed[i]
	}
	return all
}

// claimsOf are those of a Testbed, or none.
func claimsOf(o client.Object) []v1alpha1.Claim {
	tb, ok := o.(*v1alpha1.Testbed)
	if !ok || tb == nil {
		return nil
	}
	return tb.Status.Claims
}
