package backend

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// gather is how long what has changed in a Testbed's slots waits for more of its kind:
// pods come and go by the hundred, and of 5,000 slots a list takes a millisecond.
const gather = 25 * time.Millisecond

// Follow implements server.Store.
func (s *Store) Follow(ctx context.Context, send func(server.Change), synced func()) error {
	f := &follower{
		store: s, send: send, wake: make(chan struct{}, 1), dirty: map[types.UID]time.Time{}, sent: map[types.UID]wire.TestbedSlots{},
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
	send  func(server.Change)
	all   []toolscache.ResourceEventHandlerRegistration // with the cache
	wake  chan struct{}

	mu    sync.Mutex
	queue []server.Change
	// dirty are the Testbeds whose slots may have changed, and since when.
	dirty map[types.UID]time.Time

	sent map[types.UID]wire.TestbedSlots // the slots that were sent last; only run uses it
}

// listen registers for all changes, until stop.
func (f *follower) listen(ctx context.Context) (stop func(), err error) {
	stops := []func(){f.store.beds.follow(f.slotsChanged)}
	stop = func() {
		for _, end := range stops {
			end()
		}
	}
	for _, object := range []client.Object{&v1alpha1.Testbed{}, &v1alpha1.BatchJob{}, &v1alpha1.Scheduling{}} {
		informer, err := f.store.Cache.GetInformer(ctx, object)
		if err != nil {
			return stop, err
		}
		registration, err := informer.AddEventHandler(f.handler())
		if err != nil {
			return stop, err
		}
		stops = append(stops, func() { _ = informer.RemoveEventHandler(registration) }) // it is there
		f.all = append(f.all, registration)
	}
	return stop, nil
}

func (f *follower) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { f.push(wire.Added, o) },
		UpdateFunc: func(before, after any) {
			was, _ := before.(client.Object)
			is, ok := after.(client.Object)
			switch {
			case !ok || was == nil:
			case was.GetUID() != is.GetUID(): // it was deleted and made again unseen
				f.push(wire.Deleted, before)
				f.push(wire.Added, after)
			case was.GetResourceVersion() != is.GetResourceVersion():
				f.push(wire.Modified, after)
			}
		},
		DeleteFunc: func(o any) { f.push(wire.Deleted, o) },
	}
}

func (f *follower) push(op string, o any) {
	if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = missed.Obj
	}
	c := server.Change{Type: op}
	switch o := o.(type) {
	case *v1alpha1.Testbed:
		c.Object = testbedOf(o)
	case *v1alpha1.BatchJob:
		c.Object = jobOf(o)
	case *v1alpha1.Scheduling:
		c.Object = schedulingOf(o)
	default:
		return
	}
	f.mu.Lock()
	f.queue = append(f.queue, c)
	f.mu.Unlock()
	f.wakeUp()
}

func (f *follower) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// slotsChanged is called with the beds' lock held.
func (f *follower) slotsChanged(uid types.UID) {
	f.mu.Lock()
	if _, known := f.dirty[uid]; !known {
		f.dirty[uid] = f.store.now()
	}
	f.mu.Unlock()
	f.wakeUp()
}

// ready reports whether all there was when the Follow began has been read.
func (f *follower) ready() bool {
	for _, r := range f.all {
		if !r.HasSynced() {
			return false
		}
	}
	return f.store.Synced() == nil
}

// unready is how often to look whether all has been read.
const unready = 5 * time.Millisecond

func (f *follower) run(ctx context.Context, synced func()) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for live := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		case <-timer.C:
		}
		if live {
			timer.Reset(f.round(f.store.now()))
			continue
		}
		live = f.ready() // before the queue is taken, which has all then
		f.drain()
		timer.Reset(unready)
		if live {
			f.slots(func(time.Time) bool { return true })
			synced()
		}
	}
}

// round sends what is due, and returns the time until something else is.
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

// drain sends the objects' changes.
func (f *follower) drain() {
	f.mu.Lock()
	queue := f.queue
	f.queue = nil
	f.mu.Unlock()
	for _, c := range queue {
		f.send(c)
	}
}

// slots sends the slots of the Testbeds that have been dirty since a time that is due.
func (f *follower) slots(due func(since time.Time) bool) {
	f.mu.Lock()
	var now []types.UID
	for uid, since := range f.dirty {
		if due(since) {
			now = append(now, uid)
			delete(f.dirty, uid)
		}
	}
	f.mu.Unlock()
	for _, uid := range now {
		f.slotsOf(uid)
	}
}

func (f *follower) slotsOf(uid types.UID) {
	before, known := f.sent[uid]
	slots, err := f.store.beds.shown(uid)
	switch {
	case err == nil && known && sameSlots(before.Slots, slots.Slots):
	case err == nil && known:
		f.sent[uid] = slots
		f.send(server.Change{Type: wire.Modified, Object: slots})
	case err == nil:
		f.sent[uid] = slots
		f.send(server.Change{Type: wire.Added, Object: slots})
	case !errors.Is(err, errGone):
		f.store.Logger.Error("slots can't be shown", "testbed", uid, "error", err)
	case known:
		delete(f.sent, uid)
		f.send(server.Change{Type: wire.Deleted, Object: before})
	}
}

// sameSlots reports whether the slots are those that were sent: a Bed makes others only when
// something has changed.
func sameSlots(a, b []wire.Slot) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
