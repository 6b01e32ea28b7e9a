package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writes are the versions of objects that a controller has written and its cache has yet
// to see. A step that is made of an older one would only be refused. Safe for concurrent
// use; the zero value has none.
type writes struct {
	mu sync.Mutex
	of map[types.NamespacedName]written
}

type written struct {
	uid     types.UID
	version string
}

// note notes that the object was written, as the API server has answered.
func (w *writes) note(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[types.NamespacedName]written)
	}
	w.of[client.ObjectKeyFromObject(o)] = written{o.GetUID(), o.GetResourceVersion()}
}

// unseen says whether the object is an older one than was written. Versions that can't be
// compared are not.
func (w *writes) unseen(o client.Object) bool {
	name := client.ObjectKeyFromObject(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.of[name]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last.version)
	if last.uid == o.GetUID() && err == nil && order < 0 {
		return true
	}
	delete(w.of, name)
	return false
}

// forget forgets an object that is gone.
func (w *writes) forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, name)
}

// rests are objects that are left alone for the time being, each until a time at which
// somebody looks at it. Safe for concurrent use; the zero value has none.
type rests struct {
	mu sync.Mutex
	of map[types.NamespacedName]time.Time
}

// until has an object be left alone until a time.
func (r *rests) until(name types.NamespacedName, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = make(map[types.NamespacedName]time.Time)
	}
	r.of[name] = at
}

// forget forgets an object that is gone.
func (r *rests) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, name)
}

// left is for how long the object is to be left alone yet.
func (r *rests) left(name types.NamespacedName, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.of[name]; now.Before(at) {
		return at.Sub(now)
	}
	delete(r.of, name)
	return 0
}
