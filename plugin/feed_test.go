package plugin_test

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	core "k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// feed is an API and an informer whose steps a test takes one by one, as client-go does: a change in
// the API reaches the cache at once or, if the watch is broken, with the next list; a change in the
// cache reaches the handler when it is delivered.
type feed[T metav1.Object] struct {
	cache.SharedIndexInformer
	api     []T
	cached  cache.Indexer
	handler cache.ResourceEventHandler
	broken  bool
	events  []event[T]
	// changed, if set, is called for each object added or replaced in the cache.
	changed func(old, object T, added bool)
}

// event is a call of the handler: an add has no old object, and a deletion no new one; missed means
// that the deleted object's last state is unknown.
type event[T metav1.Object] struct {
	old, new       T
	added, deleted bool
	missed         bool
}

func newFeed[T metav1.Object]() *feed[T] {
	return &feed[T]{cached: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

func sameKey(a, b metav1.Object) bool {
	return a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

// AddEventHandler implements cache.SharedInformer; cached objects are delivered before it returns.
func (f *feed[T]) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	f.handler = handler
	for _, object := range f.list() {
		handler.OnAdd(object, true)
	}
	return synced{}, nil
}

// AddIndexers implements cache.SharedInformer. The next scheduler reuses the indexers of the previous
// one.
func (f *feed[T]) AddIndexers(indexers cache.Indexers) error {
	for name := range f.cached.GetIndexers() {
		delete(indexers, name)
	}
	return f.cached.AddIndexers(indexers)
}

func (f *feed[T]) GetIndexer() cache.Indexer { return f.cached }

type synced struct {
	cache.ResourceEventHandlerRegistration
}

func (synced) HasSynced() bool { return true }

// list returns the cached objects, by name.
func (f *feed[T]) list() []T {
	var all []T
	for _, object := range f.cached.List() {
		all = append(all, object.(T))
	}
	slices.SortFunc(all, func(a, b T) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	return all
}

// find returns the cached object of a name.
func (f *feed[T]) find(of metav1.Object) (object T, found bool) {
	key, _ := cache.MetaNamespaceKeyFunc(of)
	any, found, _ := f.cached.GetByKey(key)
	if found {
		object = any.(T)
	}
	return object, found
}

// put creates an object or replaces it.
func (f *feed[T]) put(object T) {
	f.api = slices.DeleteFunc(f.api, func(other T) bool { return sameKey(other, object) })
	f.api = append(f.api, object)
	if !f.broken {
		f.take(object)
	}
}

// remove deletes an object.
func (f *feed[T]) remove(object T) {
	f.api = slices.DeleteFunc(f.api, func(other T) bool { return sameKey(other, object) })
	if !f.broken {
		f.lose(object, false)
	}
}

func (f *feed[T]) take(object T) {
	old, found := f.find(object)
	_ = f.cached.Update(object)
	f.events = append(f.events, event[T]{old: old, new: object, added: !found})
	if f.changed != nil {
		f.changed(old, object, !found)
	}
}

func (f *feed[T]) lose(object T, missed bool) {
	last, found := f.find(object)
	if !found {
		return
	}
	_ = f.cached.Delete(last)
	f.events = append(f.events, event[T]{old: last, deleted: true, missed: missed})
}

// relist repairs the watch: every object of the API is delivered again, and missing ones are deleted
// with their last known state.
func (f *feed[T]) relist() {
	f.broken = false
	for _, known := range f.list() {
		if !slices.ContainsFunc(f.api, func(object T) bool { return sameKey(object, known) }) {
			f.lose(known, true)
		}
	}
	for _, object := range slices.Clone(f.api) {
		f.take(object)
	}
}

// repeat delivers an unchanged object again, as an informer's resync does.
func (f *feed[T]) repeat(object T) {
	if cached, found := f.find(object); found {
		f.events = append(f.events, event[T]{old: cached, new: cached})
	}
}

// next returns the events to be delivered next.
func (f *feed[T]) next(most int) []event[T] {
	most = min(most, len(f.events))
	events := f.events[:most:most]
	f.events = f.events[most:]
	return events
}

// deliver passes an event to the handler.
func (f *feed[T]) deliver(e event[T]) {
	switch {
	case e.missed:
		key, _ := cache.MetaNamespaceKeyFunc(e.old)
		f.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: e.old})
	case e.deleted:
		f.handler.OnDelete(e.old)
	case e.added:
		f.handler.OnAdd(e.new, false)
	default:
		f.handler.OnUpdate(e.old, e.new)
	}
}

// feeds is the informer factory of both.
type feeds struct {
	informers.SharedInformerFactory
	core.Interface
	corev1.NodeInformer
	pods  *feed[*v1.Pod]
	nodes *feed[*v1.Node]
}

func (f *feeds) Core() core.Interface { return coreFeeds{f} }

type coreFeeds struct{ *feeds }

func (c coreFeeds) V1() corev1.Interface { return v1Feeds{feeds: c.feeds} }

type v1Feeds struct {
	corev1.Interface
	feeds *feeds
}

func (v v1Feeds) Pods() podInformer   { return podFeed{v.feeds.pods} }
func (v v1Feeds) Nodes() nodeInformer { return nodeFeed{v.feeds.nodes} }

type podFeed struct{ *feed[*v1.Pod] }

func (p podFeed) Informer() cache.SharedIndexInformer { return p.feed }
func (p podFeed) Lister() listers.PodLister           { return listers.NewPodLister(p.cached) }

type nodeFeed struct{ *feed[*v1.Node] }

func (n nodeFeed) Informer() cache.SharedIndexInformer { return n.feed }
func (n nodeFeed) Lister() listers.NodeLister          { return listers.NewNodeLister(n.cached) }
