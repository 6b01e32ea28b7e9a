package controller

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

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
		return reconcile.Result{RequeueAfter: tooSoon}, nil
	case err != nil || a.again.IsZero():
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(a.again.Sub(now), time.Millisecond)}, nil
}
