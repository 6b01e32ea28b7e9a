package backend

import (
	"errors"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/view"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// errGone means that there is no such Testbed.
var errGone = errors.New("there is no such Testbed")

// beds has all Testbeds with what is in their slots, up to date with each event of the
// cache. Safe for concurrent use.
type beds struct {
	logger *slog.Logger

	mu    sync.Mutex
	of    map[types.UID]*bed
	names map[client.ObjectKey]types.UID
	// followers are called, with mu held, for each Testbed whose slots may have changed.
	followers map[int]func(types.UID)
	next      int
}

// bed is a Testbed's slots, and the newest version of what they are by: its own, and that
// of each pod that is or was in them.
type bed struct {
	*view.Bed
	version string
}

func newBeds(logger *slog.Logger) *beds {
	return &beds{
		logger: logger, of: map[types.UID]*bed{}, names: map[client.ObjectKey]types.UID{}, followers: map[int]func(types.UID){},
	}
}

// newer returns the newer version. What is none is older than any.
func newer(a, b string) string {
	if order, err := wire.CompareVersions(a, b); err != nil && a != "" || err == nil && order >= 0 {
		return a
	}
	return b
}

// handler calls changed with every object as it was and as it is, nil for none.
func handler[T any](changed func(before, after *T)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { changed(nil, typed[T](o)) },
		UpdateFunc: func(a, b any) { changed(typed[T](a), typed[T](b)) },
		DeleteFunc: func(o any) { changed(typed[T](o), nil) },
	}
}

// typed is the object of an event: of one whose deletion was missed, as it was last.
func typed[T any](o any) *T {
	if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = missed.Obj
	}
	t, _ := o.(*T)
	return t
}

func (b *beds) testbedChanged(before, after *v1alpha1.Testbed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before != nil && (after == nil || after.UID != before.UID) {
		delete(b.of, before.UID)
		if name := client.ObjectKeyFromObject(before); b.names[name] == before.UID {
			delete(b.names, name)
		}
		b.notify(before.UID)
	}
	if after != nil {
		of := b.bed(after.UID)
		of.SetTestbed(after)
		of.version = newer(of.version, after.ResourceVersion)
		b.names[client.ObjectKeyFromObject(after)] = after.UID
		b.notify(after.UID)
	}
}

func (b *beds) podChanged(before, after *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, is := testbedUID(before), testbedUID(after)
	if was != "" && (was != is || before.UID != after.UID) {
		of := b.bed(was)
		of.Forget(before.UID)
		of.version = newer(of.version, before.ResourceVersion)
		if of.Testbed() == nil && of.Pods() == 0 {
			delete(b.of, was)
		}
		b.notify(was)
	}
	if is != "" {
		of := b.bed(is)
		if err := of.Observe(after); err != nil {
			b.logger.Error("a pod can't be shown", "pod", after.Namespace+"/"+after.Name, "error", err)
		}
		of.version = newer(of.version, after.ResourceVersion)
		if of.Testbed() == nil && of.Pods() == 0 {
			delete(b.of, is)
		}
		b.notify(is)
	}
}

func testbedUID(p *corev1.Pod) types.UID {
	if p == nil {
		return ""
	}
	return types.UID(p.Labels[v1alpha1.LabelTestbedUID])
}

// bed returns what is kept of a Testbed, of which pods may come first.
func (b *beds) bed(uid types.UID) *bed {
	of := b.of[uid]
	if of == nil {
		of = &bed{Bed: view.NewBed()}
		b.of[uid] = of
	}
	return of
}

func (b *beds) notify(uid types.UID) {
	for _, changed := range b.followers {
		changed(uid)
	}
}

// follow calls changed for all Testbeds that there are, and then for each whose slots may have
// changed, until stop. changed must not block, nor use the beds.
func (b *beds) follow(changed func(types.UID)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	key := b.next
	b.followers[key] = changed
	for uid := range b.of {
		changed(uid)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.followers, key)
	}
}

// named returns the slots of the Testbed of a name, or errGone.
func (b *beds) named(name client.ObjectKey) (wire.TestbedSlots, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slots(b.names[name])
}

// shown returns the slots of a Testbed, or errGone.
func (b *beds) shown(uid types.UID) (wire.TestbedSlots, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slots(uid)
}

// slots is shown with mu held.
func (b *beds) slots(uid types.UID) (wire.TestbedSlots, error) {
	of := b.of[uid]
	if of == nil || of.Testbed() == nil {
		return wire.TestbedSlots{}, errGone
	}
	slots, err := of.Slots()
	if err != nil {
		return wire.TestbedSlots{}, err
	}
	meta := metaOf(of.Testbed())
	meta.ResourceVersion = of.version
	return wire.TestbedSlots{Meta: meta, Slots: slots}, nil
}

// free returns the order of a Testbed's slots, and which of them are free.
func (b *beds) free(uid types.UID) (*slot.Order, []slot.ID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.of[uid]
	if of == nil {
		return nil, nil, errGone
	}
	order, err := of.Order()
	if err != nil {
		return nil, nil, err
	}
	free, err := of.Free()
	return order, free, err
}
