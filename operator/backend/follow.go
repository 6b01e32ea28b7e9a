package backend

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// gather is how long what has changed in a Testbed's slots waits for more of its kind:
// pods come and go by the hundred, and 5,000 slots take some milliseconds.
const gather = 50 * time.Millisecond

// Follow implements server.Store.
func (s *Store) Follow(ctx context.Context, send func(server.Change), synced func()) error {
	f := &follower{store: s, send: send, dirty: map[types.UID]time.Time{}, sent: map[types.UID]wire.TestbedSlots{}}
	for _, object := range followed {
		informer, err := s.Cache.GetInformer(ctx, object)
		if err != nil {
			return err
		}
		registration, err := informer.AddEventHandler(f.handler())
		if err != nil {
			return err
		}
		defer func() { _ = informer.RemoveEventHandler(registration) }() // it is there
		f.all = append(f.all, registration)
	}
	f.run(ctx, synced)
	return nil
}

// follower is a Follow under way.
type follower struct {
	store *Store
	send  func(server.Change)
	all   []toolscache.ResourceEventHandlerRegistration // with the cache

	mu    sync.Mutex
	queue []server.Change
	// dirty are the Testbeds whose slots may have changed, and since when.
	dirty map[types.UID]time.Time

	sent map[types.UID]wire.TestbedSlots // the slots that were sent last; only run uses it
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

// push notes a change of an object, and whose slots it may have changed.
func (f *follower) push(op string, o any) {
	if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = missed.Obj
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	add := func(object wire.Resource) { f.queue = append(f.queue, server.Change{Type: op, Object: object}) }
	var bed types.UID
	switch o := o.(type) {
	case *v1alpha1.Testbed:
		add(testbedOf(o))
		bed = o.UID
	case *v1alpha1.BatchJob:
		add(jobOf(o))
	case *v1alpha1.Scheduling:
		add(schedulingOf(o))
	case *corev1.Pod:
		bed = types.UID(o.Labels[v1alpha1.LabelTestbedUID])
	}
	if _, known := f.dirty[bed]; bed != "" && !known {
		f.dirty[bed] = f.store.Now()
	}
}

// ready reports whether all there was when the Follow began has been read.
func (f *follower) ready() bool {
	return !slices.ContainsFunc(f.all, func(r toolscache.ResourceEventHandlerRegistration) bool { return !r.HasSynced() }) &&
		f.store.Synced() == nil
}

// run sends what has changed until ctx ends: objects at once, slots when they are due.
func (f *follower) run(ctx context.Context, synced func()) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for live := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		ready := live || f.ready() // before the queue is taken, which has all then
		now := f.store.Now()
		changes, beds := f.take(func(since time.Time) bool { return ready && (!live || now.Sub(since) >= gather) })
		for _, c := range changes {
			f.send(c)
		}
		for _, uid := range beds {
			f.sendSlots(ctx, uid)
		}
		if ready && !live {
			synced()
		}
		live = ready
	}
}

// take returns the changes of objects, and the Testbeds that have been dirty since a time that is due.
func (f *follower) take(due func(since time.Time) bool) (changes []server.Change, beds []types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes, f.queue = f.queue, nil
	for uid, since := range f.dirty {
		if due(since) {
			beds = append(beds, uid)
			delete(f.dirty, uid)
		}
	}
	return changes, beds
}

// sendSlots sends the slots of a Testbed if they differ from what was sent last.
func (f *follower) sendSlots(ctx context.Context, uid types.UID) {
	before, known := f.sent[uid]
	tb, err := f.store.testbedByUID(ctx, uid)
	if err == nil && tb == nil {
		if known {
			delete(f.sent, uid)
			f.send(server.Change{Type: wire.Deleted, Object: before})
		}
		return
	}
	var now wire.TestbedSlots
	if err == nil {
		now, err = f.store.slotsOf(ctx, tb)
	}
	switch {
	case err != nil:
		f.store.Logger.Error("slots can't be shown", "testbed", uid, "error", err)
		return
	case !known:
		f.send(server.Change{Type: wire.Added, Object: now})
	case !slices.EqualFunc(before.Slots, now.Slots, wire.Slot.Equal):
		f.send(server.Change{Type: wire.Modified, Object: now})
	}
	f.sent[uid] = now
}
