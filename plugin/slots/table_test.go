package slots

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// placesOf returns n places of a Testbed, four on each node.
func placesOf(n int) []place {
	places := make([]place, n)
	for i := range places {
		places[i] = place{"testbed", slot.ID{Node: fmt.Sprintf("node-%04d", i%(n/4)), Position: i / (n / 4)}}
	}
	return places
}

// next returns the first place that the pod may have, -1 for none, and how many taken places preceded
// it.
func (t *table) next(pod types.UID, of run, places []place) (first, taken int) {
	first = -1
	taken = t.eachFree(pod, of, places, func(i int) bool {
		first = i
		return false
	})
	return first, taken
}

// TestNextFreePlace: a freed place is found, whoever fills the others, however it was freed, and
// whoever looks.
func TestNextFreePlace(t *testing.T) {
	const n = 40
	of, another := run{"job", "1"}, run{"job", "2"}
	there := func() bool { return true }
	for what, free := range map[string]func(*table, types.UID){
		"its pod is gone":               func(t *table, pod types.UID) { t.remove(pod) },
		"its pod's cycle has ended":     func(t *table, pod types.UID) { t.unreserve(pod, there) },
		"its pod has a place elsewhere": func(t *table, pod types.UID) { t.settle(pod, of, place{"testbed", slot.ID{Node: "far"}}) },
	} {
		table, places := newTable(), placesOf(n)
		for i := range n {
			pod := types.UID(fmt.Sprint("pod-", i))
			if first, taken := table.next(pod, of, places); first != i || taken != i {
				t.Fatalf("%s: pod %d: got place %d after %d taken", what, i, first, taken)
			}
			table.reserve(pod, of, places[i])
		}
		if first, taken := table.next("late", of, places); first != -1 || taken != n {
			t.Errorf("%s: all taken: got place %d after %d taken", what, first, taken)
		}
		if first, taken := table.next("pod-7", of, places); first != 7 || taken != 7 {
			t.Errorf("%s: pod with a place: got place %d after %d taken", what, first, taken)
		}
		free(table, "pod-9")
		if first, taken := table.next("late", of, places); first != 9 || taken != 9 {
			t.Errorf("%s: got place %d after %d taken", what, first, taken)
		}
	}
	// A place reserved for a pod of its run is free for another.
	table, places := newTable(), placesOf(n)
	for i := range n {
		table.reserve(types.UID(fmt.Sprint("pod-", i)), of, places[i])
		table.next("late", of, places)
	}
	table.swap("pod-3")
	table.next("late", another, places)
	table.unreserve("pod-3", there)
	if first, _ := table.next("late", another, places); first != 3 {
		t.Errorf("another run: got place %d", first)
	}
	if first, taken := table.next("late", of, places); first != -1 || taken != n {
		t.Errorf("same run: got place %d after %d taken", first, taken)
	}
}

// BenchmarkNextFreePlace measures how long a pod takes to find its place while the pods of its job
// arrive one after the other and half of them have places.
func BenchmarkNextFreePlace(b *testing.B) {
	for _, n := range []int{1200, 5000} {
		b.Run(fmt.Sprintf("slots=%d", n), func(b *testing.B) {
			table, places, of := newTable(), placesOf(n), run{"job", "1"}
			for i := range n / 2 {
				table.settle(types.UID(fmt.Sprint("pod-", i)), of, places[i])
			}
			b.ReportAllocs()
			for b.Loop() {
				if first, _ := table.next("next", of, places); first != n/2 {
					b.Fatal(first)
				}
			}
		})
	}
}
