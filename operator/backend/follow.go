package backend

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// gather is how long what has changed in a Testbed's slots waits for more of its kind:
// pods come and go by the hundred, and of 5,000 slots a list takes a millisecond.
const gather = 25 * time.Millisecond

// Follow implements server.Store.
func (s *Store) Follow(ctx context.Context, tell func(server.Change), synced func()) error {
	f := &follower{
		store: s, tell: tell, wake: make(chan struct{}, 1), dirty: map[types.UID]time.Time{}, told: map[types.UID]server.Change{},
		newest: map[wire.Kind]server.Version{}, read: map[wire.Kind]func() server.Version{},
	}
	stop, err := f.listen(ctx)
	defer stop()
	if err != nil {
		return err
	}
	return f.run(ctx, synced)
}

// follower is a Follow under way.
type follower struct {
	store *Store
	tell  func(server.Change)
	// all are the registrations with the cache, and read says of a kind up to which version
	// the cache has what there is.
	all  []toolscache.ResourceEventHandlerRegistration
	read map[wire.Kind]func() server.Version
	wake chan struct{}

	mu    sync.Mutex
	queue []heard
	// dirty are the Testbeds whose slots may have changed, and since when.
	dirty map[types.UID]time.Time

	// The rest is run's own: the slots that were told last, of each kind the newest
	// version that was told, and whether synced has been called.
	told   map[types.UID]server.Change
	newest map[wire.Kind]server.Version
	live   bool
}

// heard is an event of the cache.
type heard struct {
	kind   string
	of     wire.Kind
	object client.Object
	// missed says that the deletion was not seen, but that the object is no more.
	missed bool
	at     time.Time
}

// readOf returns what tells the newest version of an informer's store, which has all that
// there is at it before a handler is told; nil where there are several informers, one for each
// namespace, of which one may be far behind another.
func readOf(informer cache.Informer) func() server.Version {
	one, ok := informer.(toolscache.SharedInformer)
	if !ok {
		return nil
	}
	return func() server.Version {
		// The informer's own word is that of who reads, who sets it only when a list has been
		// handed on: a handler may have been told of it by then. Client-go below 0.36, or with
		// AtomicFIFO off, knows no better.
		if s, ok := one.GetStore().(interface{ LastStoreSyncResourceVersion() string }); ok {
			return cmp.Or(s.LastStoreSyncResourceVersion(), one.LastSyncResourceVersion())
		}
		return one.LastSyncResourceVersion()
	}
}

// listen registers for all that is to be told, until stop.
func (f *follower) listen(ctx context.Context) (stop func(), err error) {
	stops := []func(){f.store.beds.follow(f.slotsChanged)}
	stop = func() {
		for _, end := range stops {
			end()
		}
	}
	for _, of := range []struct {
		kind   wire.Kind
		object client.Object
	}{{wire.Testbeds, &v1alpha1.Testbed{}}, {wire.Jobs, &v1alpha1.BatchJob{}}, {wire.Schedulings, &v1alpha1.Scheduling{}}} {
		informer, err := f.store.Cache.GetInformer(ctx, of.object)
		if err != nil {
			return stop, err
		}
		// What was read before now is among what the handler is told first.
		if read := readOf(informer); read != nil {
			f.read[of.kind], f.newest[of.kind] = read, read()
		}
		registration, err := informer.AddEventHandler(f.handler(of.kind))
		if err != nil {
			return stop, err
		}
		stops = append(stops, func() { _ = informer.RemoveEventHandler(registration) }) // it is there
		f.all = append(f.all, registration)
	}
	return stop, nil
}

func (f *follower) handler(kind wire.Kind) toolscache.ResourceEventHandler {
	hear := func(what string, o any) {
		h := heard{kind: what, of: kind, at: f.store.Now()}
		if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o, h.missed = last.Obj, true
		}
		var ok bool
		if h.object, ok = o.(client.Object); ok {
			f.push(h)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { hear(wire.Added, o) },
		UpdateFunc: func(before, after any) {
			was, _ := before.(client.Object)
			is, ok := after.(client.Object)
			switch {
			case !ok || was == nil:
			case was.GetUID() != is.GetUID(): // it was deleted and made again unseen
				hear(wire.Deleted, toolscache.DeletedFinalStateUnknown{Obj: before})
				hear(wire.Added, after)
			case was.GetResourceVersion() != is.GetResourceVersion():
				hear(wire.Modified, after)
			}
		},
		DeleteFunc: func(o any) { hear(wire.Deleted, o) },
	}
}

func (f *follower) push(h heard) {
	f.mu.Lock()
	f.queue = append(f.queue, h)
	f.mu.Unlock()
	f.rouse()
}

func (f *follower) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// slotsChanged is called with the beds' lock held.
func (f *follower) slotsChanged(uid types.UID) {
	f.mu.Lock()
	if _, known := f.dirty[uid]; !known {
		f.dirty[uid] = f.store.Now()
	}
	f.mu.Unlock()
	f.rouse()
}

// ready says that all there was when the Follow began has been heard.
func (f *follower) ready() bool {
	for _, r := range f.all {
		if !r.HasSynced() {
			return false
		}
	}
	return f.store.Synced() == nil
}

// unready is how often to look whether all has been heard.
const unready = 5 * time.Millisecond

func (f *follower) run(ctx context.Context, synced func()) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		case <-timer.C:
		}
		if f.live {
			timer.Reset(f.round(f.store.Now()))
			continue
		}
		ready := f.ready() // before the queue is taken, which has all then
		f.drain()
		if !ready {
			timer.Reset(unready)
			continue
		}
		f.slots(func(time.Time) bool { return true })
		for _, kind := range []wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings} {
			if f.inOrder(kind) {
				f.tell(server.Change{Type: wire.Bookmark, Kind: kind, Version: cmp.Or(f.newest[kind], "1"), At: f.store.Now()})
			}
		}
		f.live = true
		synced()
	}
}

// inOrder says whether a kind's changes come in the order of their versions: of a single
// namespace they do, though its informer can't say up to which it has read.
func (f *follower) inOrder(kind wire.Kind) bool {
	return f.read[kind] != nil || len(f.store.Namespaces) == 1
}

// round tells what is due, and returns how long there is nothing more to be told.
func (f *follower) round(now time.Time) time.Duration {
	f.drain()
	f.slots(func(since time.Time) bool { return now.Sub(since) >= gather })
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := time.Hour
	for _, since := range f.dirty {
		wait = min(wait, max(since.Add(gather).Sub(now), time.Millisecond))
	}
	return wait
}

// drain tells the objects' changes.
func (f *follower) drain() {
	f.mu.Lock()
	queue := f.queue
	f.queue = nil
	f.mu.Unlock()
	for i := range queue {
		f.tell(f.change(&queue[i]))
	}
}

func (f *follower) change(h *heard) server.Change {
	c := server.Change{
		Type: h.kind, Kind: h.of, Namespace: h.object.GetNamespace(), Name: h.object.GetName(),
		UID: string(h.object.GetUID()), Version: h.object.GetResourceVersion(), At: h.at,
	}
	switch o := h.object.(type) {
	case *v1alpha1.Testbed:
		c.Object = testbedOf(o)
	case *v1alpha1.BatchJob:
		c.Object = jobOf(o)
	case *v1alpha1.Scheduling:
		c.Object = schedulingOf(o)
	}
	if h.missed {
		// When it was deleted nobody knows; it is not in the list that was read since.
		if read := f.read[h.of]; read != nil {
			c.Version = newer(c.Version, read())
		}
	}
	if f.live || h.missed {
		// After a gap all is read anew, and told in no order: what was so at a version is
		// so at the next one that was told.
		c.Version = newer(c.Version, f.newest[h.of])
	}
	f.newest[h.of] = newer(c.Version, f.newest[h.of])
	return c
}

// slots tells the slots of those Testbeds that have been dirty since a time that is due.
func (f *follower) slots(due func(since time.Time) bool) {
	f.mu.Lock()
	now := make(map[types.UID]time.Time)
	for uid, since := range f.dirty {
		if due(since) {
			now[uid] = since
			delete(f.dirty, uid)
		}
	}
	f.mu.Unlock()
	for uid, since := range now {
		f.slotsOf(uid, since)
	}
}

func (f *follower) slotsOf(uid types.UID, at time.Time) {
	before, known := f.told[uid]
	slots, err := f.store.beds.shown(uid)
	switch {
	case err == nil && known && sameSlots(before.Object.(wire.TestbedSlots).Slots, slots.Slots):
		return
	case err == nil:
		c := server.Change{
			Type: wire.Added, Kind: wire.Slots, Namespace: slots.Namespace, Name: slots.Name, UID: slots.UID,
			Version: slots.ResourceVersion, Object: slots, At: at,
		}
		if known {
			c.Type = wire.Modified
		}
		f.told[uid] = c
		f.tell(c)
	case known && err == errGone: //nolint:errorlint // it is ours, and not wrapped
		delete(f.told, uid)
		before.Type, before.At = wire.Deleted, at
		before.Version = newer(before.Version, f.newest[wire.Testbeds])
		f.tell(before)
	case err != errGone: //nolint:errorlint // as above
		f.store.Logger.Error("slots can't be shown", "testbed", uid, "error", err)
	}
}

// sameSlots says that the slots are those that were told: a Bed makes others only when
// something has changed.
func sameSlots(a, b []wire.Slot) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
