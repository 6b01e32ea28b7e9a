// Package optional follows objects of a kind that the API server may not have, or not
// yet, or not let be read. An informer alone would ask for them for ever, and complain
// each time; and in a scheduler's own factory it would keep the scheduler from starting.
package optional

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Soon is when an API server that did not answer is asked again.
const Soon = 10 * time.Second

// ErrGone says that there were objects of the kind, and are no more.
var ErrGone = errors.New("the API server no longer has them, or no longer lets them be read")

// Absent says that the API server has no such kind, or none to be read.
func Absent(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || errors.Is(err, ErrGone)
}

// Kind is a kind of objects that may not be there. Its functions are called one at a
// time but for Handler's and Synced, which are called while objects come.
type Kind struct {
	// Source lists and watches them, Object is one of them.
	Source cache.ListerWatcher
	Object runtime.Object
	// Strip keeps what is read of an object.
	Strip   cache.TransformFunc
	Handler cache.ResourceEventHandler
	// Synced is called when Handler has got all there are, Ended when there are none to
	// be followed, also if there never were. Between the two the objects are known.
	Synced func()
	Ended  func(error)
	// Retry is how long after that the API server is asked again; Soon at the latest
	// if the kind may well be there.
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

// once follows the objects until there are none to follow.
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
