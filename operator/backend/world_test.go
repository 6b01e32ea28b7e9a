package backend_test

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spazio-scheduler/spazio/operator/backend"
	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// informers are client-go's own, each with a source that a test writes to: as much of a cache.Cache
// as a Store needs.
type informers struct {
	cache.Cache
	of map[reflect.Type]toolscache.SharedIndexInformer
	// gets counts the reads.
	gets atomic.Int32
}

// GetInformer implements cache.Informers.
func (c *informers) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return c.of[reflect.TypeOf(o)], nil
}

// Get implements client.Reader.
func (c *informers) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.gets.Add(1)
	o, there, err := c.of[reflect.TypeOf(into)].GetStore().GetByKey(name.String())
	if err != nil || !there {
		return apierrors.NewNotFound(schema.GroupResource{}, name.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o).Elem())
	return nil
}

// List implements client.Reader, of a namespace or of all.
func (c *informers) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	var kind client.Object
	switch into.(type) {
	case *v1alpha1.TestbedList:
		kind = &v1alpha1.Testbed{}
	case *v1alpha1.BatchJobList:
		kind = &v1alpha1.BatchJob{}
	case *v1alpha1.SchedulingList:
		kind = &v1alpha1.Scheduling{}
	}
	var found []runtime.Object
	for _, one := range c.of[reflect.TypeOf(kind)].GetStore().List() {
		if object := one.(client.Object); o.Namespace == "" || object.GetNamespace() == o.Namespace {
			found = append(found, object)
		}
	}
	return meta.SetList(into, found)
}

// world is a Store whose cache has the objects that a test puts into the sources.
type world struct {
	*testing.T
	store                             *backend.Store
	cache                             *informers
	testbeds, jobs, schedulings, pods *fcache.FakeControllerSource
}

func newWorld(t *testing.T, funcs interceptor.Funcs) *world {
	t.Helper()
	w := &world{T: t, cache: &informers{of: map[reflect.Type]toolscache.SharedIndexInformer{}}}
	for _, of := range []struct {
		kind   client.Object
		source **fcache.FakeControllerSource
	}{{&v1alpha1.Testbed{}, &w.testbeds}, {&v1alpha1.BatchJob{}, &w.jobs}, {&v1alpha1.Scheduling{}, &w.schedulings}, {&corev1.Pod{}, &w.pods}} {
		*of.source = fcache.NewFakeControllerSource()
		w.cache.of[reflect.TypeOf(of.kind)] = toolscache.NewSharedIndexInformer(*of.source, of.kind, 0, toolscache.Indexers{})
	}
	scheme, err := controller.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).Build()
	w.store, err = backend.NewStore(t.Context(), backend.Config{Cache: w.cache, Client: api, Live: api, Authorizer: nil})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// start has the informers read, until the test ends.
func (w *world) start() {
	stop := make(chan struct{})
	var running sync.WaitGroup
	for _, informer := range w.cache.of {
		running.Go(func() { informer.Run(stop) })
	}
	w.Cleanup(func() {
		close(stop)
		running.Wait()
		for _, source := range []*fcache.FakeControllerSource{w.testbeds, w.jobs, w.schedulings, w.pods} {
			source.Shutdown()
		}
	})
}

// eventually waits for a condition.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	for i := 0; !holds(); i++ {
		if i > 6000 {
			w.Fatalf("not in a minute: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// sourceVersion returns the version of a source's object, "" if there is none.
func sourceVersion(source *fcache.FakeControllerSource, name string) string {
	list, err := source.List(metav1.ListOptions{})
	if err != nil {
		return ""
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return ""
	}
	for _, o := range all {
		if of := o.(client.Object); of.GetName() == name {
			return of.GetResourceVersion()
		}
	}
	return ""
}
