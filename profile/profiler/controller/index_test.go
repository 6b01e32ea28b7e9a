package controller

import (
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The last reported change is of the present state, whoever reports it.
func TestChangesComeInOrder(t *testing.T) {
	var mu sync.Mutex
	var received *int
	x := &index[int]{
		read: func(object any) (int, bool) {
			o, ok := object.(*metav1.ObjectMeta)
			return int(o.Generation), ok
		},
		changed: func(before, after *int) {
			mu.Lock()
			defer mu.Unlock()
			if (before == nil) != (received == nil) || before != nil && *before != *received {
				t.Error("before a change there was something else than after the last")
			}
			received = after
		},
	}
	name := types.NamespacedName{Namespace: "default", Name: "web"}
	var all sync.WaitGroup
	for writer := range 4 {
		all.Go(func() {
			for n := range 5000 {
				if (writer+n)%3 == 0 {
					x.drop(name)
				} else {
					x.note(&metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Generation: int64(10*n + writer)})
				}
			}
		})
	}
	all.Wait()
	if is, ok := x.get(name); ok != (received != nil) || ok && is != *received {
		t.Errorf("%v is there, %v was heard", is, received)
	}
}
