package slots

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// placesOf are so many places of a Testbed, four on each node.
func placesOf(n int) []place {
	places := make([]place, n)
	for i := range places {
		places[i] = place{"testbed", slot.ID{Node: fmt.Sprintf("node-%04d", i%(n/4)), Position: i / (n / 4)}}
	}
	return places
}

// next is the first place that the pod may have, -1 for none, and how many were seen to be
// taken before.
func (t *table) next(pod types.UID, of run, places []place) (first, taken int) {
	first = -1
	taken = t.eachFree(pod, of, places, func(i int) bool {
		first = i
		return false
	})
	return first, taken
}

// A place that becomes free is seen, whoever has filled the others, however it becomes free,
// and whoever looks.
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
				t.Fatalf("%s: pod %d may have place %d, and %d are taken", what, i, first, taken)
			}
			table.reserve(pod, of, places[i])
		}
		if first, taken := table.next("late", of, places); first != -1 || taken != n {
			t.Errorf("%s: all are taken, and one may have place %d; %d are", what, first, taken)
		}
		if first, taken := table.next("pod-7", of, places); first != 7 || taken != 7 {
			t.Errorf("%s: who has a place may have place %d; %d are taken", what, first, taken)
		}
		free(table, "pod-9")
		if first, taken := table.next("late", of, places); first != 9 || taken != 9 {
			t.Errorf("%s: one may have place %d; %d are taken", what, first, taken)
		}
	}
	// Kept for a pod of its run, it is free for another.
	table, places := newTable(), placesOf(n)
	for i := range n {
		table.reserve(types.UID(fmt.Sprint("pod-", i)), of, places[i])
		table.next("late", of, places)
	}
	table.swap("pod-3")
	table.next("late", another, places)
	table.unreserve("pod-3", there)
	if first, _ := table.next("late", another, places); first != 3 {
		t.Errorf("another run may have place %d", first)
	}
	if first, taken := table.next("late", of, places); first != -1 || taken != n {
		t.Errorf("the same run may have place %d; %d are taken", first, taken)
	}
}

// BenchmarkNextFreePlace is what finding its place takes a pod of a job whose pods come one
// after the other, half of them being there.
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
