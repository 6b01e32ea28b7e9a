package backend_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// log records what a Follow reports. It is safe for concurrent use.
type log struct {
	mu      sync.Mutex
	changes []server.Change
	synced  int // how many came before
}

// follow follows until the test ends.
func (w *world) follow() *log {
	l := &log{synced: -1}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- w.store.Follow(ctx, func(c server.Change) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.changes = append(l.changes, c)
		}, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.synced = len(l.changes)
		})
	}()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	})
	return l
}

func (l *log) all() []server.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]server.Change(nil), l.changes...)
}

func (l *log) isSynced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.synced >= 0
}

// mirror is the state of a client that applies all changes: the version of each object.
type mirror map[string]string

func keyOf(kind wire.Kind, uid string) string { return string(kind) + " " + uid }

// take applies a change, and returns an error if it is inconsistent.
func (m mirror) take(c *server.Change) string {
	kind, meta := c.Object.ObjectKind(), c.Object.Common()
	key := keyOf(kind, meta.UID)
	before, known := m[key]
	if known != (c.Type != wire.Added) {
		return fmt.Sprintf("%s of %s %s, known %v", c.Type, kind, meta.Name, known)
	}
	if order, err := wire.CompareVersions(meta.ResourceVersion, before); known && kind != wire.Slots && (err != nil || order < 0) {
		return fmt.Sprintf("%s of %s %s at %s comes after %s", c.Type, kind, meta.Name, meta.ResourceVersion, before)
	}
	if m[key] = versionOf(c.Object); c.Type == wire.Deleted {
		delete(m, key)
	}
	return ""
}

func versionOf(object wire.Resource) string {
	slots, ok := object.(wire.TestbedSlots)
	if !ok {
		return object.Common().ResourceVersion
	}
	text := ""
	for _, s := range slots.Slots {
		text += s.ID + s.State.String() + s.PodUID + ","
	}
	return text
}

// Whatever happens, gaps in the cache's watch included, a client that applies all changes knows the
// present objects, whenever it began, and is never sent an older version.
func TestFollow(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { follow(t, rand.New(rand.NewPCG(seed, 21))) })
	}
}

func follow(t *testing.T, rng *rand.Rand) {
	w := newWorld(t, interceptor.Funcs{})
	sources := map[wire.Kind]*fcache.FakeControllerSource{wire.Testbeds: w.testbeds, wire.Jobs: w.jobs, wire.Schedulings: w.schedulings}
	there := map[wire.Kind]map[string]client.Object{wire.Testbeds: {}, wire.Jobs: {}, wire.Schedulings: {}}
	serial := 0
	// step changes one object of a kind; in a gap the watch does not report it.
	step := func(kind wire.Kind, gap bool) {
		source, all := sources[kind], there[kind]
		name := fmt.Sprint("o", rng.IntN(4))
		o := all[name]
		if o != nil {
			o = o.DeepCopyObject().(client.Object)
		}
		do := map[string]func(runtime.Object){"add": source.Add, "modify": source.Modify, "delete": source.Delete}
		if gap {
			do = map[string]func(runtime.Object){"add": source.AddDropWatch, "modify": source.ModifyDropWatch, "delete": source.DeleteDropWatch}
		}
		switch {
		case o == nil:
			serial++
			switch kind {
			case wire.Testbeds:
				tb := &v1alpha1.Testbed{Spec: v1alpha1.TestbedSpec{SlotsPerNode: intstr.FromInt32(2), MaxSlots: 5000}}
				tb.Status.Nodes = []v1alpha1.TestbedNode{{Name: "n", Slots: 2, Wanted: 2}}
				o = tb
			case wire.Jobs:
				o = &v1alpha1.BatchJob{}
			default:
				o = &v1alpha1.Scheduling{}
			}
			o.SetNamespace("lab")
			o.SetName(name)
			o.SetUID(types.UID(fmt.Sprint("u", serial)))
			all[name] = o
			do["add"](o)
		case rng.IntN(3) == 0:
			delete(all, name)
			do["delete"](o)
		default:
			all[name] = o
			do["modify"](o)
		}
	}
	kinds := []wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings}
	for range 10 {
		step(kinds[rng.IntN(3)], false)
	}
	first := w.follow()
	w.start()
	w.eventually("the first is synced", first.isSynced)
	second := w.follow()
	w.eventually("the second is synced", second.isSynced)

	// settled waits until a log has all present objects.
	settled := func(l *log) {
		t.Helper()
		w.eventually("a follower knows what there is", func() bool {
			changes := l.all()
			known := mirror{}
			for i := range changes {
				if wrong := known.take(&changes[i]); wrong != "" {
					t.Fatal(wrong)
				}
			}
			n := 0
			for _, kind := range kinds {
				for _, o := range there[kind] {
					version := known[keyOf(kind, string(o.GetUID()))]
					if version != sourceVersion(sources[kind], o.GetName()) {
						return false
					}
					n++
				}
			}
			for key := range known {
				if key[:5] != "slots" {
					n--
				}
			}
			return n == 0
		})
	}
	for round := range 6 {
		gap := wire.Kind("")
		if round%3 == 2 {
			gap = kinds[rng.IntN(3)]
		}
		for range 12 {
			kind := kinds[rng.IntN(3)]
			step(kind, kind == gap)
		}
		if gap != "" {
			sources[gap].ResetWatch()
		}
		settled(first)
		settled(second)
	}
}

// Follow begins with all present objects, each once.
func TestFollowBegins(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	for i := range 3 {
		meta := metav1.ObjectMeta{Namespace: fmt.Sprint("lab", i), Name: "o", UID: types.UID(fmt.Sprint("u", i))}
		w.testbeds.Add(&v1alpha1.Testbed{ObjectMeta: meta})
		w.jobs.Add(&v1alpha1.BatchJob{ObjectMeta: meta})
		w.schedulings.Add(&v1alpha1.Scheduling{ObjectMeta: meta})
	}
	l := w.follow()
	w.start()
	w.eventually("it is synced", l.isSynced)
	added := map[wire.Kind]int{}
	for _, c := range l.all() {
		if c.Type != wire.Added {
			t.Errorf("%s of %s", c.Type, c.Object.ObjectKind())
		}
		added[c.Object.ObjectKind()]++
	}
	want := map[wire.Kind]int{wire.Testbeds: 3, wire.Jobs: 3, wire.Schedulings: 3, wire.Slots: 3}
	if diff := cmp.Diff(want, added); diff != "" {
		t.Error(diff)
	}
}

// Slots follow pods: changes within a moment come together, also those of pods whose Testbed comes
// later.
func TestFollowSlots(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	clock := &atomic.Int64{} // a moment lasts until the test has the next one come
	w.store.SetClock(func() time.Time { return time.Unix(clock.Load(), 0) })
	w.start()
	l := w.follow()
	w.eventually("it is synced", l.isSynced)
	const slots = 200
	pod := func(i int) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "lab", Name: fmt.Sprint("placeholder-", i), UID: types.UID(fmt.Sprint("p", i)),
				Labels:      map[string]string{v1alpha1.LabelTestbedUID: "u", v1alpha1.LabelRole: v1alpha1.RolePlaceholder},
				Annotations: map[string]string{v1alpha1.AnnotationSlot: fmt.Sprintf("n%d/%d", i/2, i%2)},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("n", i/2)},
		}
	}
	for i := range slots {
		w.pods.Add(pod(i))
	}
	bed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "bed", UID: "u"}}
	bed.Spec.SlotsPerNode, bed.Spec.MaxSlots = intstr.FromInt32(2), 5000
	for i := range slots / 2 {
		bed.Status.Nodes = append(bed.Status.Nodes, v1alpha1.TestbedNode{Name: fmt.Sprint("n", i), ID: int32(i), Slots: 2, Wanted: 2})
	}
	w.testbeds.Add(bed)
	told := func() (last *wire.TestbedSlots, times int, kinds map[string]int) {
		kinds = map[string]int{}
		for _, c := range l.all() {
			if s, ok := c.Object.(wire.TestbedSlots); ok {
				last, times = &s, times+1
				kinds[c.Type]++
			}
		}
		return last, times, kinds
	}
	// moment ends once that many slots are free and were reported.
	moment := func(free, before int) {
		t.Helper()
		var got wire.TestbedSlots
		w.eventually(fmt.Sprint(free, " slots are free"), func() bool {
			var err error
			got, err = w.store.Slots(t.Context(), "lab", "bed")
			n := 0
			for _, s := range got.Slots {
				if s.State.String() == "free" {
					n++
				}
			}
			return err == nil && n == free
		})
		if _, times, _ := told(); times != before {
			t.Errorf("slots were told %d times before the moment has passed, want %d", times, before)
		}
		clock.Add(1)
		w.eventually("the slots are told", func() bool { _, times, _ := told(); return times > before })
		last, times, kinds := told()
		if times != before+1 || kinds[wire.Added] != 1 {
			t.Errorf("slots were told %d times, want %d: %v", times, before+1, kinds)
		}
		if diff := cmp.Diff(got, *last); diff != "" {
			t.Errorf("what is told is not what is read: %s", diff)
		}
	}
	moment(slots, 0)
	for i := range slots / 2 {
		w.pods.Delete(pod(i))
	}
	moment(slots/2, 1)
	w.testbeds.Delete(bed)
	w.eventually("the Testbed is gone", func() bool { _, err := w.store.Slots(t.Context(), "lab", "bed"); return err != nil })
	clock.Add(1)
	w.eventually("the slots are gone", func() bool {
		_, _, kinds := told()
		return kinds[wire.Deleted] == 1
	})
}
