package backend

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// catchUp is how long a write waits at most for the cache to have it. A caller who asks before
// finds what was there before, as at another replica.
const catchUp = 2 * time.Second

// look is how often to look whether the cache has caught up.
const look = 5 * time.Millisecond

// until waits, for catchUp at most, until the cache's object, nil if there is none, is as it
// should be. known reports whether the cache has had the object since the wait began.
func (s *Store) until(ctx context.Context, o client.Object, holds func(seen client.Object, known bool) bool) {
	known := false
	_ = wait.PollUntilContextTimeout(ctx, look, catchUp, true, func(ctx context.Context) (bool, error) {
		seen := o.DeepCopyObject().(client.Object)
		err := s.Cache.Get(ctx, client.ObjectKeyFromObject(o), seen, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			return holds(nil, known), nil
		case err != nil:
			return false, err
		}
		known = true
		return holds(seen, known), nil
	})
}

// await waits until the cache has the object at the version, or is beyond it.
func (s *Store) await(ctx context.Context, o client.Object) {
	version := o.GetResourceVersion()
	s.until(ctx, o, func(seen client.Object, known bool) bool {
		if seen == nil {
			return known // it was deleted since
		}
		order, err := wire.CompareVersions(seen.GetResourceVersion(), version)
		return err != nil || order >= 0
	})
}

// awaitDeletion waits until the cache knows that the Scheduling goes.
func (s *Store) awaitDeletion(ctx context.Context, o *v1alpha1.Scheduling) {
	s.until(ctx, o, func(seen client.Object, _ bool) bool { return seen == nil || seen.GetDeletionTimestamp() != nil })
}
