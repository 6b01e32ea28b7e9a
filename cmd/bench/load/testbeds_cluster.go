package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	objects "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/bench"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

const (
	namespace = metav1.NamespaceDefault
	nodeLabel = "slots"
	// parallel is how many requests this program has under way.
	parallel = 32
)

// cluster is a control plane with nodes, what it was seen to do, and our two programs.
type cluster struct {
	*testbeds
	plane     *embedded.ControlPlane
	client    client.Client
	clientset kubernetes.Interface
	group     *children.Group
	progress  io.Writer

	mu      sync.Mutex
	changed chan struct{}           // closed when something next comes, is bound, or goes
	placed  map[string]bool         // the pods that are there, and whether they are bound
	bound   int                     // how many are
	made    map[types.UID]time.Time // since when there are children, by their job's UID
}

// connect has clients of the control plane, makes the kinds, the classes and the nodes, and watches
// pods and what runs jobs until ctx ends.
func (c *cluster) connect(ctx context.Context) (err error) {
	if c.clientset, err = kubernetes.NewForConfig(c.plane.RESTConfig()); err != nil {
		return err
	}
	known := objects.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		return err
	}
	each := c.plane.RESTConfig() // kinds have the encoding that they know
	each.ContentType, each.AcceptContentTypes = "", ""
	if c.client, err = client.New(each, client.Options{Scheme: known}); err != nil {
		return err
	}
	for _, text := range v1alpha1.CRDs() {
		var o unstructured.Unstructured
		if err := errors.Join(yaml.Unmarshal(text, &o.Object), c.client.Create(ctx, &o)); err != nil {
			return err
		}
	}
	for _, name := range []string{v1alpha1.PriorityClassPlaceholder, v1alpha1.PriorityClassSlot} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1000, PreemptionPolicy: new(corev1.PreemptNever)}
		if err := c.client.Create(ctx, class); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.progress, "making %d nodes\n", c.nodes)
	// Half of a node is for slots, the other half for what the default profile places.
	if err := inParallel(ctx, c.nodes, func(i int) error {
		return simnode.Register(ctx, c.clientset, simnode.NodeSpec{
			Name: fmt.Sprintf("node-%04d", i), Cores: 2 * c.slots, Memory: float64(2*c.slots+1) * (1 << 30),
			Labels: map[string]string{nodeLabel: fmt.Sprint(i)},
		})
	}); err != nil {
		return err
	}
	return c.watch(ctx)
}

func (c *cluster) watch(ctx context.Context) error {
	c.changed, c.placed, c.made = make(chan struct{}), map[string]bool{}, map[types.UID]time.Time{}
	factory := informers.NewSharedInformerFactoryWithOptions(c.clientset, 0, informers.WithNamespace(namespace))
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { c.see(o, false) }, UpdateFunc: func(_, o any) { c.see(o, false) }, DeleteFunc: func(o any) { c.see(o, true) },
	}
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Pods().Informer(), factory.Batch().V1().Jobs().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

// see notes what has become of an object.
func (c *cluster) see(object any, gone bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Pod:
		if c.placed[o.Name] {
			c.bound--
		}
		if c.placed[o.Name] = o.Spec.NodeName != ""; gone {
			delete(c.placed, o.Name)
		}
		if c.placed[o.Name] {
			c.bound++
		}
	case *batchv1.Job:
		if owner := metav1.GetControllerOf(o); owner != nil && gone {
			delete(c.made, owner.UID)
		} else if owner != nil && c.made[owner.UID].IsZero() {
			c.made[owner.UID] = time.Now()
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// until returns when check, called with the lock held, reports true.
func (c *cluster) until(ctx context.Context, what string, check func() bool) error {
	for {
		c.mu.Lock()
		done, changed := check(), c.changed
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		}
	}
}

// inParallel calls f with 0 to n−1, and returns the first error.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		group.Go(func() error { return f(i) })
	}
	return group.Wait()
}

// kubeconfig is where one of our programs' is, which run writes.
func (c *cluster) kubeconfig(name string) string {
	return filepath.Join(c.group.Dir(), name+".kubeconfig")
}

// run starts one of our programs, as a user of its name.
func (c *cluster) run(ctx context.Context, name, path string, arguments ...string) (*children.Process, error) {
	config, err := c.plane.UserConfig(name)
	if err != nil {
		return nil, err
	}
	if err := embedded.WriteKubeconfig(c.kubeconfig(name), config); err != nil {
		return nil, err
	}
	return bench.Start(ctx, c.group, c.progress, path, name, arguments...)
}

// ready returns when nothing of what came before is under way any more, as events of pods that
// were bound, and has this program, through whose API server all of it goes, collect its garbage, as
// Go's own benchmarks do before each, so that none of it need be collected in what is timed next.
func ready(ctx context.Context) error {
	const look, calm = 250 * time.Millisecond, .1 // cores
	for {
		used, err := bench.Follow(ctx, look, os.Getpid())
		if err != nil {
			return err
		}
		if used[0].Cores < calm {
			runtime.GC()
			return nil
		}
	}
}
