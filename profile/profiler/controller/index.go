package controller

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// index keeps what matters of each object that a reflector shows. It is safe for
// concurrent use.
type index[T any] struct {
	// read is what matters, not ok if nothing does; changed, if set, is called with what was
	// and what is, nil for nothing.
	read    func(object any) (T, bool)
	changed func(before, after *T)

	// telling is held while changed is called, so that calls are in the changes' order: a
	// reflector and a writer may note the same object at once.
	telling sync.Mutex

	mu     sync.Mutex
	of     map[types.NamespacedName]T
	synced bool
}

var _ cache.ReflectorStore = (*index[int])(nil)

// Add notes an object.
func (x *index[T]) Add(object any) error {
	if o, err := meta.Accessor(object); err == nil {
		v, ok := x.read(object)
		x.set(types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}, v, ok)
	}
	return nil
}

// Update does the same.
func (x *index[T]) Update(object any) error { return x.Add(object) }

// Delete notes that an object has gone.
func (x *index[T]) Delete(object any) error {
	if o, err := meta.Accessor(object); err == nil {
		x.drop(types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return nil
}

// drop notes that there is no object of a name.
func (x *index[T]) drop(name types.NamespacedName) {
	var none T
	x.set(name, none, false)
}

// Replace notes all objects that there are.
func (x *index[T]) Replace(list []any, _ string) error {
	there := map[types.NamespacedName]bool{}
	for _, object := range list {
		if o, err := meta.Accessor(object); err == nil {
			there[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = true
			_ = x.Add(object)
		}
	}
	for _, name := range x.names() {
		if !there[name] {
			x.drop(name)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.synced = true
	return nil
}

// Resync has nothing to do.
func (x *index[T]) Resync() error { return nil }

func (x *index[T]) set(name types.NamespacedName, v T, ok bool) {
	x.telling.Lock()
	defer x.telling.Unlock()
	x.mu.Lock()
	before, was := x.of[name]
	if ok && x.of == nil {
		x.of = map[types.NamespacedName]T{}
	}
	if ok {
		x.of[name] = v
	} else {
		delete(x.of, name)
	}
	x.mu.Unlock()
	if x.changed == nil || !ok && !was {
		return
	}
	var then, now *T
	if was {
		then = &before
	}
	if ok {
		now = &v
	}
	x.changed(then, now)
}

func (x *index[T]) get(name types.NamespacedName) (T, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	v, ok := x.of[name]
	return v, ok
}

// names are in order.
func (x *index[T]) names() []types.NamespacedName {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.SortedFunc(maps.Keys(x.of), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}

// all reports whether everything has been shown once.
func (x *index[T]) all() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.synced
}
