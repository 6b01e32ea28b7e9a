package backend

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Config of a Store. Cache, Client, Live and Authorizer are needed.
type Config struct {
	// Cache is a manager's, as controller.Cache has it and with what controller.Add indexes.
	Cache cache.Cache
	// Client writes, and Live reads what has to be as it is now.
	Client client.Client
	Live   client.Reader
	// Authorizer says what a caller may see of what a plan is about.
	Authorizer server.Authorizer
	// Namespaces are those that are followed; none is all.
	Namespaces []string
	// Logger gets what can't be shown; nil logs nothing.
	Logger *slog.Logger
}

// Store is a server.Store of a manager's cache. Its methods are safe for concurrent use.
type Store struct {
	Config
	now  func() time.Time
	beds *beds
	// read are the informers of all that is read.
	read []toolscache.ResourceEventHandlerRegistration
}

var _ server.Store = (*Store)(nil)

// NewStore makes a Store, which asks the cache for informers of Testbeds, pods, BatchJobs
// and Schedulings; the cache may be started afterwards, and Synced returns nil once it has
// them all. The error is the cache's.
func NewStore(ctx context.Context, c Config) (*Store, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{Config: c, now: time.Now, beds: newBeds(c.Logger)}
	for _, of := range []struct {
		kind    client.Object
		handler toolscache.ResourceEventHandler
	}{
		{&v1alpha1.Testbed{}, handler(s.beds.testbedChanged)},
		{&corev1.Pod{}, handler(s.beds.podChanged)},
		{&v1alpha1.BatchJob{}, toolscache.ResourceEventHandlerFuncs{}}, // only to know when they are read
		{&v1alpha1.Scheduling{}, toolscache.ResourceEventHandlerFuncs{}},
	} {
		informer, err := c.Cache.GetInformer(ctx, of.kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		registration, err := informer.AddEventHandler(of.handler)
		if err != nil {
			return nil, err
		}
		s.read = append(s.read, registration)
	}
	return s, nil
}

// Synced implements server.Store.
func (s *Store) Synced() error {
	for _, r := range s.read {
		if !r.HasSynced() {
			return server.RefuseForNow(http.StatusServiceUnavailable, 1, "The objects are being read.")
		}
	}
	return nil
}

// Testbeds implements server.Store.
func (s *Store) Testbeds(ctx context.Context, namespace string) ([]wire.Testbed, error) {
	var list v1alpha1.TestbedList
	err := s.list(ctx, namespace, &list)
	return sorted(list.Items, testbedOf), err
}

// Jobs implements server.Store.
func (s *Store) Jobs(ctx context.Context, namespace string) ([]wire.Job, error) {
	var list v1alpha1.BatchJobList
	err := s.list(ctx, namespace, &list)
	return sorted(list.Items, jobOf), err
}

// Schedulings implements server.Store.
func (s *Store) Schedulings(ctx context.Context, namespace string) ([]wire.Scheduling, error) {
	var list v1alpha1.SchedulingList
	err := s.list(ctx, namespace, &list)
	return sorted(list.Items, schedulingOf), err
}

// list lists what the cache has; it is the cache's own.
func (s *Store) list(ctx context.Context, namespace string, into client.ObjectList) error {
	if err := s.Synced(); err != nil {
		return err
	}
	if namespace != "" && !s.follows(namespace) {
		return nil
	}
	return s.Cache.List(ctx, into, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
}

// follows reports whether the cache has the namespace's objects.
func (s *Store) follows(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// sorted are the objects by namespace and name.
func sorted[T any, W wire.Resource](items []T, show func(*T) W) []W {
	out := make([]W, len(items))
	for i := range items {
		out[i] = show(&items[i])
	}
	slices.SortFunc(out, func(a, b W) int { return a.Common().FullName().Compare(b.Common().FullName()) })
	return out
}

// Testbed implements server.Store.
func (s *Store) Testbed(ctx context.Context, namespace, name string) (wire.Testbed, error) {
	return read(ctx, s, "testbed", namespace, name, &v1alpha1.Testbed{}, testbedOf)
}

// Job implements server.Store.
func (s *Store) Job(ctx context.Context, namespace, name string) (wire.Job, error) {
	return read(ctx, s, "job", namespace, name, &v1alpha1.BatchJob{}, jobOf)
}

// Scheduling implements server.Store.
func (s *Store) Scheduling(ctx context.Context, namespace, name string) (wire.Scheduling, error) {
	return read(ctx, s, "scheduling", namespace, name, &v1alpha1.Scheduling{}, schedulingOf)
}

// Slots implements server.Store.
func (s *Store) Slots(_ context.Context, namespace, name string) (wire.TestbedSlots, error) {
	if err := s.Synced(); err != nil {
		return wire.TestbedSlots{}, err
	}
	slots, err := s.beds.named(client.ObjectKey{Namespace: namespace, Name: name})
	if errors.Is(err, errGone) {
		return wire.TestbedSlots{}, noSuch("testbed", namespace, name)
	}
	return slots, err
}

// read reads one object of the cache.
func read[T client.Object, W any](ctx context.Context, s *Store, what, namespace, name string, into T, show func(T) W) (out W, err error) {
	if err := s.Synced(); err != nil {
		return out, err
	}
	if !s.follows(namespace) {
		return out, noSuch(what, namespace, name)
	}
	err = s.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return out, noSuch(what, namespace, name)
	case err != nil:
		return out, err
	}
	return show(into), nil
}
