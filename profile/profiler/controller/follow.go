package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
)

// typedClient is for lists and watches of one group, which are of few types and many
// objects.
func typedClient(config *rest.Config, path string, version schema.GroupVersion, add func(*runtime.Scheme) error) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := add(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, version)
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, path
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

func podClient(config *rest.Config) (rest.Interface, error) {
	return typedClient(config, "/api", schema.GroupVersion{Version: "v1"}, corev1.AddToScheme)
}

func profileClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, ""
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &v1alpha1.GroupVersion, "/apis", v1alpha1.Codecs
	return rest.RESTClientFor(config)
}

// listWatch is of a resource's objects in all namespaces, those that labels select.
func listWatch(client rest.Interface, resource, labels string) cache.ListerWatcherWithContext {
	return cache.ToListerWatcherWithContext(cache.NewFilteredListWatchFromClient(client, resource, metav1.NamespaceAll, func(o *metav1.ListOptions) { o.LabelSelector = labels }))
}

// sink gets what a reflector reads: all objects first, then each that changes or goes.
type sink interface {
	note(object any)
	remove(object any)
	replace(all []any)
}

// reflectorStore is a sink as a reflector wants it.
type reflectorStore struct {
	sink
	transform cache.TransformFunc // of the objects of a list in progress; nil leaves them
}

var _ cache.TransformingStore = reflectorStore{}

func (s reflectorStore) Add(object any) error    { s.note(object); return nil }
func (s reflectorStore) Update(object any) error { s.note(object); return nil }
func (s reflectorStore) Delete(object any) error { s.remove(object); return nil }

func (s reflectorStore) Replace(all []any, _ string) error { s.replace(all); return nil }
func (s reflectorStore) Resync() error                     { return nil }
func (s reflectorStore) Transformer() cache.TransformFunc  { return s.transform }

// follow keeps a sink up to date until ctx ends. What fails is counted and, once a
// minute, logged.
func (c *Controller) follow(ctx context.Context, lw cache.ListerWatcherWithContext, resource string, of runtime.Object, into reflectorStore) {
	failed := func(verb string, err error) {
		if err != nil && ctx.Err() == nil {
			c.metrics.failures.WithLabelValues(resource).Inc()
			c.complain(verb+" "+resource, "objects cannot be watched", "verb", verb, "resource", resource, "error", err)
		}
	}
	watched := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := lw.ListWithContext(ctx, o)
			failed("list", err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := lw.WatchWithContext(ctx, o)
			failed("watch", err)
			return w, err
		},
	}
	cache.NewReflectorWithOptions(watched, of, into, cache.ReflectorOptions{Name: resource}).RunWithContext(ctx)
}

// index keeps what matters of each object that a reflector shows. It is safe for
// concurrent use.
type index[T any] struct {
	// read is what matters, not ok if nothing does; changed, if set, is called with what was
	// and what is, nil for nothing.
	read    func(object any) (T, bool)
	changed func(before, after *T)

	// calling is held while changed is called, so that calls are in the changes' order: a
	// reflector and a writer may note the same object at once.
	calling sync.Mutex

	mu     sync.Mutex
	of     map[types.NamespacedName]T
	synced bool
}

func nameIn(object any) (types.NamespacedName, bool) {
	o, err := meta.Accessor(object)
	if err != nil {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}, true
}

func (x *index[T]) note(object any) {
	if name, ok := nameIn(object); ok {
		v, ok := x.read(object)
		x.set(name, v, ok)
	}
}

func (x *index[T]) remove(object any) {
	if name, ok := nameIn(object); ok {
		x.drop(name)
	}
}

// drop notes that there is no object of a name.
func (x *index[T]) drop(name types.NamespacedName) {
	var none T
	x.set(name, none, false)
}

func (x *index[T]) replace(list []any) {
	there := map[types.NamespacedName]bool{}
	for _, object := range list {
		if name, ok := nameIn(object); ok {
			there[name] = true
			x.note(object)
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
}

func (x *index[T]) set(name types.NamespacedName, v T, ok bool) {
	x.calling.Lock()
	defer x.calling.Unlock()
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
