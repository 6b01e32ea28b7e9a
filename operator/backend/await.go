package backend

import (
	"context"
	"reflect"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// catchUp is how long a write waits at most for the cache to have it. A caller who asks before
// finds what was there before, as at another replica.
const catchUp = 2 * time.Second

// waits are those who wait for the cache to have seen a change of an object. Safe for
// concurrent use; the zero value has none.
type waits struct {
	mu sync.Mutex
	of map[waitKey]*changeWait
}

type waitKey struct {
	kind reflect.Type
	name client.ObjectKey
}

// changeWait is closed with the next change of its object; so many wait for it.
type changeWait struct {
	changed chan struct{}
	waiting int
}

func keyOf(o client.Object) waitKey { return waitKey{reflect.TypeOf(o), client.ObjectKeyFromObject(o)} }

// next returns a channel that is closed with the next change of the object, and forgets it
// when stop is called.
func (w *waits) next(key waitKey) (changed <-chan struct{}, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.of[key]
	if of == nil {
		of = &changeWait{changed: make(chan struct{})}
		if w.of == nil {
			w.of = map[waitKey]*changeWait{}
		}
		w.of[key] = of
	}
	of.waiting++
	return of.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if of.waiting--; of.waiting == 0 && w.of[key] == of {
			delete(w.of, key)
		}
	}
}

// change wakes those who wait for the object.
func (w *waits) change(key waitKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if of := w.of[key]; of != nil {
		close(of.changed)
		delete(w.of, key)
	}
}

// waitHandler wakes those who wait for an object of a kind, which the cache has by then.
func waitHandler[T any, P interface {
	*T
	client.Object
}](w *waits) toolscache.ResourceEventHandler {
	return handler(func(before, after *T) {
		if after == nil {
			after = before
		}
		if after != nil {
			w.change(keyOf(P(after)))
		}
	})
}

// until waits, for catchUp at most, until the cache's object, nil if there is none, is as it
// should be. changed reports whether it has changed since the wait began.
func (s *Store) until(ctx context.Context, o client.Object, holds func(seen client.Object, changed bool) bool) {
	ctx, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	seen := o.DeepCopyObject().(client.Object)
	for woken := false; ; woken = true {
		changed, stop := s.waits.next(keyOf(o))
		err := s.Cache.Get(ctx, client.ObjectKeyFromObject(o), seen, client.UnsafeDisableDeepCopy)
		var now client.Object
		if err == nil {
			now = seen
		}
		if client.IgnoreNotFound(err) != nil || holds(now, woken) {
			stop()
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// await waits until the cache has the object at the version, or is beyond it.
func (s *Store) await(ctx context.Context, o client.Object) {
	version := o.GetResourceVersion()
	s.until(ctx, o, func(seen client.Object, changed bool) bool {
		if seen == nil {
			return changed // it was deleted since
		}
		order, err := wire.CompareVersions(seen.GetResourceVersion(), version)
		return err != nil || order >= 0
	})
}

// awaitDeletion waits until the cache knows that the Scheduling goes.
func (s *Store) awaitDeletion(ctx context.Context, o *v1alpha1.Scheduling) {
	s.until(ctx, o, func(seen client.Object, _ bool) bool { return seen == nil || seen.GetDeletionTimestamp() != nil })
}
