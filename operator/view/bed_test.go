package view_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/view"
)

// A Bed has the order of the slots, and which of them are free.
func TestBed(t *testing.T) {
	b, err := view.NewBed(bed(), []corev1.Pod{pod("", "b/0", "b")})
	if err != nil || len(b.Free) != 1 || b.Free[0].String() != "b/0" || b.Order.Len() != 4 {
		t.Errorf("%+v, %v", b, err)
	}
}

// The benchmark works out a Testbed of 5,000 slots.
func BenchmarkBed(b *testing.B) {
	t := bed()
	t.Status.Nodes = nil
	var pods []corev1.Pod
	for i := range 1250 {
		node := fmt.Sprint("node-", i)
		t.Status.Nodes = append(t.Status.Nodes, v1alpha1.TestbedNode{Name: node, ID: int32(i), Slots: 4})
		for k := range 4 {
			p := pod("", "b/1", node)
			p.UID, p.Annotations[v1alpha1.AnnotationSlot] = types.UID(fmt.Sprint(len(pods))), fmt.Sprintf("%s/%d", node, k)
			pods = append(pods, p)
		}
	}
	for b.Loop() {
		if _, err := view.NewBed(t, pods); err != nil {
			b.Fatal(err)
		}
	}
}
