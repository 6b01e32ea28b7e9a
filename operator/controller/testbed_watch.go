package controller

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	runtimecontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
)

// How long what has changed waits for more of its kind.
const (
	// soon is for what people and jobs do.
	soon = 10 * time.Millisecond
	// batch is for pods: thousands come and go at once.
	batch = 40 * time.Millisecond
	// pace is for measured room.
	pace = time.Second
)

// addTestbed adds the controller of Testbeds.
func addTestbed(mgr manager.Manager, o Options, m *metrics) error {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1 // the workers are the limit
	writer, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	r := newTestbeds(mgr.GetClient(), writer, mgr.GetAPIReader(), o, m)
	workers := &pool{running: make(chan struct{}, placeholderWorkers)}
	r.work = workers.run
	// Not a handler's context: that one ends when its cache has been filled.
	background, cancel := context.WithCancel(context.Background())
	r.background = background
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		r.followRooms(ctx)
		<-ctx.Done()
		cancel()
		workers.wait()
		return nil
	})); err != nil {
		cancel()
		return err
	}
	return builder.ControllerManagedBy(mgr).Named("testbed").
		WithOptions(runtimecontroller.Options{MaxConcurrentReconciles: 4}).
		Watches(&v1alpha1.Testbed{}, r.handler(r.testbedChanged)).
		Watches(&v1alpha1.Scheduling{}, r.handler(r.schedulingChanged)).
		Watches(&v1alpha1.BatchJob{}, r.handler(r.jobChanged)).
		Watches(&corev1.Node{}, r.handler(r.nodeChanged)).
		Watches(&corev1.Pod{}, r.handler(r.podChanged)).
		Complete(r)
}

// handler makes a handler of changed, which gets an object as it was and as it is, nil for none.
// With the first event the controller gets its queue.
func (r *testbeds) handler(changed func(before, after client.Object)) handler.EventHandler {
	return onChange(func(_ context.Context, before, after client.Object, q requestQueue) {
		r.once.Do(func() {
			r.wake = func(name types.NamespacedName, after time.Duration) {
				q.AddAfter(reconcile.Request{NamespacedName: name}, after)
			}
		})
		changed(before, after)
	})
}

// testbedChanged wakes the Testbed. What it wants concerns the others.
func (r *testbeds) testbedChanged(before, after client.Object) {
	tb := first(after, before)
	old, isOld := before.(*v1alpha1.Testbed)
	next, isNew := after.(*v1alpha1.Testbed)
	if !isOld || !isNew || old.Generation != next.Generation || old.UID != next.UID || (old.DeletionTimestamp == nil) != (next.DeletionTimestamp == nil) {
		r.reshare()
	}
	r.wake(client.ObjectKeyFromObject(tb), soon)
}

// reshare has nodes be shared out anew.
func (r *testbeds) reshare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = true
}

func (r *testbeds) schedulingChanged(before, after client.Object) {
	for _, o := range []client.Object{before, after} {
		if s, ok := o.(*v1alpha1.Scheduling); ok {
			r.wake(s.TestbedKey(), soon)
		}
	}
}

// jobChanged wakes the Testbeds that the job has slots of, or whose Scheduling has it. Who
// gets slots depends on no more of a job than a Scheduling does.
func (r *testbeds) jobChanged(before, after client.Object) {
	was, wasJob := before.(*v1alpha1.BatchJob)
	is, isJob := after.(*v1alpha1.BatchJob)
	if wasJob && isJob && sameForSchedulings(was, is) {
		return
	}
	for _, o := range []client.Object{before, after} {
		job, ok := o.(*v1alpha1.BatchJob)
		if !ok {
			continue
		}
		for _, request := range requestsBy(r.background, r.cached, r.logger, &v1alpha1.TestbedList{}, testbedClaim, string(job.UID)) {
			r.wake(request.NamespacedName, soon)
		}
		if active := job.Status.ActiveScheduling; active != nil {
			s := &v1alpha1.Scheduling{}
			if err := r.cached.Get(r.background, types.NamespacedName{Namespace: active.Namespace, Name: active.Name}, s, client.UnsafeDisableDeepCopy); err == nil {
				r.wake(s.TestbedKey(), soon)
			}
		}
	}
}

// nodeChanged wakes all Testbeds: a node's labels decide whose it is.
func (r *testbeds) nodeChanged(before, after client.Object) {
	if before != nil && after != nil && maps.Equal(before.GetLabels(), after.GetLabels()) {
		return
	}
	r.reshare()
	r.wakeAll(batch)
}

// wakeAll wakes the Testbeds that were looked at.
func (r *testbeds) wakeAll(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.states {
		r.wake(name, after)
	}
}

// podChanged wakes the Testbeds in whose slots the pod is or was, and has nodes be shared out
// anew if a node may have come to one or gone from one by it.
func (r *testbeds) podChanged(before, after client.Object) {
	old, _ := before.(*corev1.Pod)
	next, _ := after.(*corev1.Pod)
	was, is := testbedOf(old), testbedOf(next)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = r.stale || was != is || was != "" && nodeHeldBy(old) != nodeHeldBy(next)
	for name, s := range r.states {
		if s.uid == was || s.uid == is {
			r.wake(name, batch)
		}
	}
}

func nodeHeldBy(p *corev1.Pod) string {
	pod := workload.SlotPod(p)
	return heldNode(&pod)
}

// followRooms wakes the Testbeds whose slots follow measured room when that changes.
func (r *testbeds) followRooms(ctx context.Context) {
	if r.options.Rooms == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.options.Rooms.Changed():
			r.wakeAutomatic()
		}
	}
}

func (r *testbeds) wakeAutomatic() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, s := range r.states {
		if s.automatic.Load() {
			r.wake(name, pace)
		}
	}
}
