// Package informer handles the events of client-go's informers, and follows kinds of objects that may
// be absent.
package informer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
