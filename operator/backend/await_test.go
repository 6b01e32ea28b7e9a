package backend_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

func scheduling(name string) *v1alpha1.Scheduling {
	return &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}
}

// A write returns once the cache has it.
func TestWritesWaitForTheCache(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			o.SetResourceVersion("1")
			return nil
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return nil },
	})
	w.start()
	w.eventually("it is synced", func() bool { return w.store.Synced() == nil })
	for round := range 3 {
		name := fmt.Sprint("s", round)
		spec := wire.SchedulingSpec{Testbed: "bed", Queue: []string{"a"}}
		steps := []struct {
			what  string
			write func() error
			comes func(runtime.Object)
		}{
			{"creation", func() error {
				_, err := w.store.CreateScheduling(t.Context(), server.Caller{}, "lab", name, spec)
				return err
			}, w.schedulings.Add},
			{"deletion", func() error {
				return w.store.DeleteScheduling(t.Context(), server.Caller{}, "lab", name, "")
			}, w.schedulings.Delete},
		}
		for _, step := range steps {
			before := w.cache.gets.Load()
			done := make(chan error, 1)
			go func() { done <- step.write() }()
			w.eventually(step.what+" is waited for", func() bool { return w.cache.gets.Load() > before })
			select {
			case err := <-done:
				t.Fatalf("%s is answered before the cache has it: %v", step.what, err)
			case <-time.After(20 * time.Millisecond):
			}
			step.comes(scheduling(name))
			if err := <-done; err != nil {
				t.Errorf("%s: %v", step.what, err)
			}
		}
	}
}
