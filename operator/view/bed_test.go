package view_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/view"
)

// A Bed that got one change after the other shows the same as one that got the outcome alone.
func TestBedFollows(t *testing.T) {
	bad := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		follows, pods := view.NewBed(), map[types.UID]corev1.Pod{}
		now := bed()
		if seed%2 == 1 {
			now = automatic(3)
		}
		nodes := len(now.Status.Nodes)
		if _, err := follows.Slots(); err == nil {
			t.Fatal(err)
		}
		for range 60 {
			switch rng.IntN(5) {
			case 0:
				now = now.DeepCopy()
				now.Status.Claims = nil
				if rng.IntN(2) == 0 {
					now.Status.Nodes = now.Status.Nodes[:nodes]
				}
				for i := range rng.IntN(3) {
					claim(now, fmt.Sprint("j", i), fmt.Sprintf("b/%d", i))
				}
				now.Status.Nodes[0].Slots = int32(1 + rng.IntN(3))
				switch rng.IntN(8) {
				case 0, 3: // nodes that are no order of slots, and may stay so while claims change
					now.Status.Nodes = append(now.Status.Nodes[:nodes], now.Status.Nodes[0])
				case 1:
					claim(now, "j9", "no slot")
				case 2: // a slot that two have
					claim(now, "j7", "b/0")
					claim(now, "j8", "b/0")
				}
				follows.SetTestbed(now)
			case 1:
				for uid := range pods {
					delete(pods, uid)
					follows.Forget(uid)
					break
				}
			default:
				job := []string{"", "j0", "j1"}[rng.IntN(3)]
				p := pod(job, fmt.Sprintf("b/%d", rng.IntN(4)), []string{"", "b"}[rng.IntN(2)])
				if rng.IntN(6) == 0 {
					ended(&p)
				}
				if rng.IntN(6) == 0 {
					unbound(&p)
				}
				pods[p.UID] = p
				if err := follows.Observe(&p); err != nil {
					t.Fatal(err)
				}
			}
			follows.SetTestbed(now)
			var list []corev1.Pod
			for _, p := range pods {
				list = append(list, p)
			}
			want, failed := view.Slots(now, list)
			got, err := follows.Slots()
			if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(failed) {
				t.Fatalf("seed %d: %v, want %v\n%s", seed, err, failed, diff)
			}
			if failed != nil {
				bad++
			}
		}
	}
	if bad == 0 {
		t.Error("no Testbed could not be shown")
	}
}

// A returned view does not change later.
func TestBedKeepsWhatItReturned(t *testing.T) {
	b := view.NewBed()
	b.SetTestbed(bed())
	before, err := b.Slots()
	if err != nil {
		t.Fatal(err)
	}
	kept := append([]wire.Slot(nil), before...)
	p := pod("", "b/0", "b")
	if err := b.Observe(&p); err != nil {
		t.Fatal(err)
	}
	after, _ := b.Slots()
	if diff := cmp.Diff(kept, before); diff != "" || cmp.Equal(before, after) {
		t.Errorf("what was returned has changed, or nothing has:\n%s", diff)
	}
	if again, _ := b.Slots(); &again[0] != &after[0] {
		t.Error("the same is made twice")
	}
	free, err := b.Free()
	if err != nil || len(free) != 1 || free[0].String() != "b/0" {
		t.Errorf("free %v, %v", free, err)
	}
	if order, err := b.Order(); err != nil || order.Len() != 4 {
		t.Errorf("%v, %v", order, err)
	}
}

// The benchmark changes a pod in a Testbed of 5,000 slots, and reads all slots.
func BenchmarkBed(b *testing.B) {
	t := bed()
	t.Status.Nodes = nil
	for i := range 1250 {
		t.Status.Nodes = append(t.Status.Nodes, v1alpha1.TestbedNode{Name: fmt.Sprint("node-", i), ID: int32(i), Slots: 4})
	}
	all := view.NewBed()
	all.SetTestbed(t)
	pods := [2]corev1.Pod{pod("", "b/1", "node-7"), pod("", "b/1", "")}
	for i := range pods {
		pods[i].Annotations[v1alpha1.AnnotationSlot] = "node-7/1"
	}
	for name, show := range map[string]bool{"event/slots=5000": false, "event+slots/slots=5000": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := all.Observe(&pods[i%2]); err != nil {
					b.Fatal(err)
				}
				if show {
					if _, err := all.Slots(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
