package backend

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/view"
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
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Store is a server.Store of a manager's cache. Its methods are safe for concurrent use.
type Store struct {
	Config
	// read are the informers of all that is read.
	read []toolscache.ResourceEventHandlerRegistration
}

var _ server.Store = (*Store)(nil)

// followed are the objects that a Store reads.
var followed = []client.Object{&v1alpha1.Testbed{}, &corev1.Pod{}, &v1alpha1.BatchJob{}, &v1alpha1.Scheduling{}}

// NewStore makes a Store, which asks the cache for informers of Testbeds, pods, BatchJobs
// and Schedulings; the cache may be started afterwards, and Synced returns nil once it has
// them all. The error is the cache's.
func NewStore(ctx context.Context, c Config) (*Store, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Store{Config: c}
	for _, object := range followed {
		informer, err := c.Cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{}) // only to know when they are read
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
func (s *Store) Slots(ctx context.Context, namespace, name string) (wire.TestbedSlots, error) {
	tb := &v1alpha1.Testbed{}
	if _, err := read(ctx, s, "testbed", namespace, name, tb, testbedOf); err != nil {
		return wire.TestbedSlots{}, err
	}
	return s.slotsOf(ctx, tb)
}

// testbedByUID returns the Testbed of a UID, nil if there is none.
func (s *Store) testbedByUID(ctx context.Context, uid types.UID) (*v1alpha1.Testbed, error) {
	var list v1alpha1.TestbedList
	if err := s.list(ctx, metav1.NamespaceAll, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].UID == uid {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// bed returns what is in the slots of a Testbed, and the pods that are in them.
func (s *Store) bed(ctx context.Context, tb *v1alpha1.Testbed) (view.Bed, []corev1.Pod, error) {
	var pods corev1.PodList
	inSlots := client.MatchingLabels{v1alpha1.LabelTestbedUID: string(tb.UID)}
	if err := s.Cache.List(ctx, &pods, inSlots, client.UnsafeDisableDeepCopy); err != nil {
		return view.Bed{}, nil, err
	}
	bed, err := view.NewBed(tb, pods.Items)
	return bed, pods.Items, err
}

// slotsOf returns the slots of a Testbed, at the newest version of what they are by: its own and
// that of each pod that is in them.
func (s *Store) slotsOf(ctx context.Context, tb *v1alpha1.Testbed) (wire.TestbedSlots, error) {
	bed, pods, err := s.bed(ctx, tb)
	meta := metaOf(tb)
	for i := range pods {
		if order, err := wire.CompareVersions(pods[i].ResourceVersion, meta.ResourceVersion); err == nil && order > 0 {
			meta.ResourceVersion = pods[i].ResourceVersion
		}
	}
	return wire.TestbedSlots{Meta: meta, Slots: bed.Slots}, err
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
