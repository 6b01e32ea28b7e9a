package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// requestQueue is what handlers of events put requests into.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// onChange makes a handler of changed, which gets an object as it was and as it is; nil stands
// for one that is not there.
func onChange(changed func(ctx context.Context, before, after client.Object, q requestQueue)) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requestQueue) { changed(ctx, nil, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requestQueue) {
			changed(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requestQueue) { changed(ctx, e.Object, nil, q) },
	}
}

// first returns the first object that is there.
func first(objects ...client.Object) client.Object {
	for _, o := range objects {
		if o != nil {
			return o
		}
	}
	return nil
}

// requestsBy are those to look at the objects that an index of the cache has for a value.
func requestsBy(ctx context.Context, cached client.Reader, logger *slog.Logger, list client.ObjectList, index, value string) []reconcile.Request {
	if err := cached.List(ctx, list, client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		logger.Error("objects can't be listed: they are reconciled at their next change", "index", index, "value", value, "error", err)
		return nil
	}
	var all []reconcile.Request
	_ = meta.EachListItem(list, func(o runtime.Object) error { // what is called does not fail
		if object, ok := o.(client.Object); ok {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return all
}

// updateTestbed changes a Testbed's status as the API server has it, however often others
// write between. change reports whether there is anything to change. A Testbed that is gone
// has nothing to change.
func updateTestbed(ctx context.Context, c client.Client, live client.Reader, name types.NamespacedName, change func(*v1alpha1.Testbed) bool) error {
	return client.IgnoreNotFound(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		tb := &v1alpha1.Testbed{}
		if err := live.Get(ctx, name, tb); err != nil {
			return err
		}
		if !change(tb) {
			return nil
		}
		return c.Status().Update(ctx, tb)
	}))
}

// turnedFalse returns the condition if it is false for another reason than before.
func turnedFalse(before, after []metav1.Condition, kind string) *metav1.Condition {
	c := meta.FindStatusCondition(after, kind)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	if was := meta.FindStatusCondition(before, kind); was != nil && was.Status == c.Status && was.Reason == c.Reason {
		return nil
	}
	return c
}

// note cuts a text to what an event takes.
func note(text string) string { return cut(text, 1000) }

// finalize adds or removes a finalizer, unless the object has changed.
func finalize(ctx context.Context, c client.Client, o client.Object, name string, change func(client.Object, string) bool) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok || !change(o, name) {
		return nil
	}
	return c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// alarm is when to look at an object again even if nothing happens; the zero value is
// never. Not safe for concurrent use.
type alarm struct{ again time.Time }

// wake has the next look be at a time or before; zero is never.
func (a *alarm) wake(at time.Time) {
	if !at.IsZero() && (a.again.IsZero() || at.Before(a.again)) {
		a.again = at
	}
}

// result is what the queue gets after a look. A conflict is no error: another has written
// first, and what is to be done follows from what it wrote. Nor is a cache that is behind.
func (a *alarm) result(err error, now time.Time) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), errors.Is(err, errBehind):
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	case err != nil || a.again.IsZero():
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(a.again.Sub(now), time.Millisecond)}, nil
}
