package objects

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Handler returns a handler that passes on the objects of a type: as they are, and as they were last
// when they are gone. An object of the same name with another UID is another object, whose
// predecessor is gone: both events can arrive as one update.
func Handler[T metav1.Object](seen, gone func(T)) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if object, ok := obj.(T); ok {
				seen(object)
			}
		},
		UpdateFunc: func(before, after any) {
			object, ok := after.(T)
			if !ok {
				return
			}
			if old, ok := before.(T); ok && old.GetUID() != object.GetUID() {
				gone(old)
			}
			seen(object)
		},
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			if last, ok := obj.(T); ok {
				gone(last)
			}
		},
	}
}

// Soon is when an API server that did not answer is asked again.
const Soon = 10 * time.Second

// ErrGone is the error for objects that were there and no longer are.
var ErrGone = errors.New("the API server no longer has them, or no longer lets them be read")

// Absent reports whether an error means that the API server has no such kind, or none that may be
// read.
func Absent(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || errors.Is(err, ErrGone)
}

// Kind is a kind of objects that the API server may not have, may not have yet, or may not let be
// read. A plain informer would ask for them forever and log an error each time, and in a scheduler's
// own factory it would keep the scheduler from starting. Its functions are called one at a time, except
// those of Handler and Synced, which are called while objects arrive.
type Kind struct {
	// Source lists and watches the objects; Object is an example of one.
	Source cache.ListerWatcher
	Object runtime.Object
	// Strip reduces an object to what is read of it.
	Strip   cache.TransformFunc
	Handler cache.ResourceEventHandler
	// Synced is called when Handler has received all existing objects. Ended is called when they
	// can no longer be followed, also if they never could be. Between the two calls the objects
	// are known.
	Synced func()
	Ended  func(error)
	// Retry is how long after Ended the API server is asked again, at most Soon if the kind may
	// well be there.
	Retry time.Duration
}

// Follow follows the objects until ctx ends.
func (k *Kind) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := k.once(ctx)
		if ctx.Err() != nil {
			return
		}
		k.Ended(err)
		retry := k.Retry
		if !Absent(err) {
			retry = min(retry, Soon)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// once follows the objects until they can no longer be followed.
func (k *Kind) once(ctx context.Context) error {
	if _, err := cache.ToListerWatcherWithContext(k.Source).ListWithContext(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	informer := cache.NewSharedInformer(k.Source, k.Object, 0)
	err := errors.Join(
		informer.SetTransform(k.Strip),
		informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			if Absent(err) {
				stop(ErrGone)
				return
			}
			cache.DefaultWatchErrorHandler(ctx, r, err)
		}),
	)
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(k.Handler)
	if err != nil {
		return err
	}
	var syncing sync.WaitGroup
	defer syncing.Wait()
	syncing.Go(func() {
		if cache.WaitForCacheSync(run.Done(), registration.HasSynced) {
			k.Synced()
		}
	})
	informer.RunWithContext(run)
	return context.Cause(run)
}

// Strip reduces an unstructured object to the fields named by their paths, its kind and its
// identity. A field of an unexpected form counts as absent.
func Strip(obj any, fields ...[]string) (any, error) {
	whole, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	kept := &unstructured.Unstructured{Object: make(map[string]any)}
	kept.SetGroupVersionKind(whole.GroupVersionKind())
	kept.SetNamespace(whole.GetNamespace())
	kept.SetName(whole.GetName())
	kept.SetUID(whole.GetUID())
	kept.SetResourceVersion(whole.GetResourceVersion())
	for _, field := range fields {
		value, found, err := unstructured.NestedFieldNoCopy(whole.Object, field...)
		if err != nil || !found {
			continue
		}
		if err := unstructured.SetNestedField(kept.Object, value, field...); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
