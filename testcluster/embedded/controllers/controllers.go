// Package controllers runs those of kube-controller-manager that make and remove pods,
// upstream's own, inside the calling process: of Jobs, CronJobs, Deployments, ReplicaSets,
// StatefulSets and DaemonSets, and the garbage collector.
//
//	running, err := controllers.Start(ctx, plane, controllers.Options{})
//	if err != nil {
//		return err
//	}
//	defer running.Close()
//
// Each acts as the account that it has in a cluster, so that with [embedded.Config.RBAC]
// it has upstream's rights and no more. Other controllers do not run: nodes get no taints, and
// deleted namespaces stay unless [Options.Namespaces] is set.
//
// Types that do not speak of concurrent use are plain values.
package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// Options are those of the controllers. The zero value is ready to use.
type Options struct {
	// Discovery is how often the garbage collector asks which kinds of objects there
	// are; default 30 s, upstream's. Owners of a kind that it has not met own nothing.
	Discovery time.Duration
	// Namespaces has those that are deleted go, with all that is in them.
	Namespaces bool
}

func (o Options) withDefaults() Options {
	if o.Discovery <= 0 {
		o.Discovery = 30 * time.Second
	}
	return o
}

const (
	// workers are those of each controller, as many as upstream has.
	workers = 5
	// replicaBurst is how many pods a ReplicaSet makes at once, as upstream.
	replicaBurst = 500
	// resync is when the caches tell all again: never, nothing of this waits for it.
	resync = 0
)

// Controllers are running. It is safe for concurrent use.
type Controllers struct {
	stop     context.CancelFunc
	running  sync.WaitGroup
	shutdown []func()
}

// Start runs the controllers until Close. They are at work when it returns, the garbage
// collector a moment later. ctx gives values alone.
func Start(ctx context.Context, plane *embedded.ControlPlane, o Options) (*Controllers, error) {
	c := &Controllers{}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.start(ctx, plane, o.withDefaults()); err != nil {
		c.Close()
		return nil, fmt.Errorf("controllers: %w", err)
	}
	return c, nil
}

func (c *Controllers) start(ctx context.Context, plane *embedded.ControlPlane, o Options) error {
	reader, err := clientOf(plane, "system:kube-controller-manager")
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(reader, resync)
	c.shutdown = append(c.shutdown, shared.Shutdown)
	started := make(chan struct{})
	defer close(started)
	all := []func() (run func(), err error){
		func() (func(), error) { return jobs(ctx, plane, shared) },
		func() (func(), error) { return deployments(ctx, plane, shared) },
		func() (func(), error) { return replicaSets(ctx, plane, shared) },
		func() (func(), error) { return cronJobs(ctx, plane, shared) },
		func() (func(), error) { return statefulSets(ctx, plane, shared) },
		func() (func(), error) { return daemonSets(ctx, plane, shared) },
		func() (func(), error) { return c.garbage(ctx, plane, shared, started, o.Discovery) },
	}
	if o.Namespaces {
		all = append(all, func() (func(), error) { return namespaces(ctx, plane, shared) })
	}
	for _, begin := range all {
		run, err := begin()
		if err != nil {
			return err
		}
		c.running.Go(run)
	}
	shared.Start(ctx.Done())
	for kind, synced := range shared.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watch %v: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// Close stops the controllers and waits for them. It may be called more than once.
func (c *Controllers) Close() {
	c.stop()
	c.running.Wait()
	for _, shutdown := range c.shutdown {
		shutdown()
	}
}

// clientOf returns a client with a controller's rights.
func clientOf(plane *embedded.ControlPlane, user string) (*kubernetes.Clientset, error) {
	config, err := plane.UserConfig(user)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// clientsOf returns besides one of the metadata of objects of all kinds.
func clientsOf(plane *embedded.ControlPlane, user string) (*kubernetes.Clientset, metadata.Interface, error) {
	config, err := plane.UserConfig(user)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	objects, err := metadata.NewForConfig(config)
	return client, objects, err
}

// account is what kube-controller-manager calls itself as one of its controllers.
func account(controller string) string { return "system:serviceaccount:kube-system:" + controller }

func jobs(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory) (func(), error) {
	client, err := clientOf(plane, account("job-controller"))
	if err != nil {
		return nil, err
	}
	c, err := newJobs(ctx, client, shared)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return func() { c.Run(ctx, workers) }, nil
}

func deployments(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory) (func(), error) {
	client, err := clientOf(plane, account("deployment-controller"))
	if err != nil {
		return nil, err
	}
	apps := shared.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), shared.Core().V1().Pods(), client)
	if err != nil {
		return nil, fmt.Errorf("deployments: %w", err)
	}
	return func() { c.Run(ctx, workers) }, nil
}

func replicaSets(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory) (func(), error) {
	client, err := clientOf(plane, account("replicaset-controller"))
	if err != nil {
		return nil, err
	}
	c := replicaset.NewReplicaSetController(ctx, shared.Apps().V1().ReplicaSets(), shared.Core().V1().Pods(), client, replicaBurst)
	return func() { c.Run(ctx, workers) }, nil
}

func cronJobs(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory) (func(), error) {
	client, err := clientOf(plane, account("cronjob-controller"))
	if err != nil {
		return nil, err
	}
	c, err := cronjob.NewControllerV2(ctx, shared.Batch().V1().Jobs(), shared.Batch().V1().CronJobs(), client)
	if err != nil {
		return nil, fmt.Errorf("cronjobs: %w", err)
	}
	return func() { c.Run(ctx, workers) }, nil
}

func statefulSets(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory) (func(), error) {
	client, err := clientOf(plane, account("statefulset-controller"))
	if err != nil {
		return nil, err
	}
	apps, core := shared.Apps().V1(), shared.Core().V1()
	c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client)
	return func() { c.Run(ctx, workers) }, nil
}

func daemonSets(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory) (func(), error) {
	client, err := clientOf(plane, account("daemon-set-controller"))
	if err != nil {
		return nil, err
	}
	apps, core := shared.Apps().V1(), shared.Core().V1()
	c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute)) // upstream's
	if err != nil {
		return nil, fmt.Errorf("daemonsets: %w", err)
	}
	return func() { c.Run(ctx, workers) }, nil
}

func namespaces(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory) (func(), error) {
	client, objects, err := clientsOf(plane, account("namespace-controller"))
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), resync, corev1.FinalizerKubernetes)
	return func() { c.Run(ctx, workers) }, nil
}

// garbage returns the garbage collector, which besides the shared caches has its own of
// every kind that there is.
func (c *Controllers) garbage(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory, started <-chan struct{}, discovery time.Duration) (func(), error) {
	client, objects, err := clientsOf(plane, account("generic-garbage-collector"))
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	all := metadatainformer.NewSharedInformerFactory(objects, resync)
	c.shutdown = append(c.shutdown, all.Shutdown)
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(shared, all), started)
	if err != nil {
		return nil, fmt.Errorf("garbage collector: %w", err)
	}
	return func() {
		var syncing sync.WaitGroup
		defer syncing.Wait()
		syncing.Go(func() { collector.Sync(ctx, client.Discovery(), discovery) })
		collector.Run(ctx, workers, discovery)
	}, nil
}
