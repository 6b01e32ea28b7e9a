package testbeds

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// recorder records the changes of a namespace's Testbeds and of the pods in their slots, by its own
// watches.
type recorder struct {
	mu      sync.Mutex
	changes []change
	ticks   []tick
}

// record records until the test ends, and fails it for each broken invariant.
func record(t *testing.T, client kubernetes.Interface, kinds dynamic.Interface, namespace string) {
	t.Helper()
	r := &recorder{}
	ctx, cancel := context.WithCancel(context.Background())
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelRole }))
	testbeds := dynamicinformer.NewFilteredDynamicSharedInformerFactory(kinds, 0, namespace, nil)
	for _, informer := range []cache.SharedIndexInformer{
		pods.Core().V1().Pods().Informer(), testbeds.ForResource(v1alpha1.GroupVersion.WithResource(v1alpha1.Testbeds)).Informer(),
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { r.add(t, o, false) },
			UpdateFunc: func(_, o any) { r.add(t, o, false) },
			DeleteFunc: func(o any) { r.add(t, o, true) },
		}); err != nil {
			t.Fatal(err)
		}
	}
	pods.Start(ctx.Done())
	testbeds.Start(ctx.Done())
	pods.WaitForCacheSync(ctx.Done())
	testbeds.WaitForCacheSync(ctx.Done())
	var ticking sync.WaitGroup
	ticking.Go(func() { r.tick(ctx, t, client, namespace) })
	t.Cleanup(func() {
		cancel()
		ticking.Wait()
		pods.Shutdown()
		testbeds.Shutdown()
		for _, fault := range violations(r.changes, r.ticks) {
			t.Error(fault)
		}
		of := map[bool]int{}
		for _, c := range r.changes {
			of[c.pod != nil]++
		}
		if of[true] == 0 || of[false] == 0 || len(r.ticks) == 0 {
			t.Errorf("%d changes of pods, %d of Testbeds and %d ticks recorded", of[true], of[false], len(r.ticks))
		}
	})
}

func revisionOf(t *testing.T, o metav1.Object) int64 {
	revision, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return revision
}

func (r *recorder) add(t *testing.T, o any, gone bool) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	c := change{gone: gone}
	switch o := o.(type) {
	case *corev1.Pod:
		c.pod, c.revision = o, revisionOf(t, o)
	case *unstructured.Unstructured:
		c.testbed, c.revision = &v1alpha1.Testbed{}, revisionOf(t, o)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, c.testbed); err != nil {
			t.Error(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, c)
}

// tickEvery is fine enough for states that may last no longer than patience.
const tickEvery = 200 * time.Millisecond

// tick dates revisions.
func (r *recorder) tick(ctx context.Context, t *testing.T, client kubernetes.Interface, namespace string) {
	maps := client.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ticks"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
		return
	}
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for i := 0; ; i++ {
		sent := time.Now()
		patch := []byte(`{"data":{"tick":"` + strconv.Itoa(i) + `"}}`)
		if written, err := maps.Patch(ctx, "ticks", types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
			r.mu.Lock()
			r.ticks = append(r.ticks, tick{revisionOf(t, written), sent, time.Now()})
			r.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
