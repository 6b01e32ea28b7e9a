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
	"cmp"
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
	// Namespaces removes deleted namespaces with their content.
	Namespaces bool
}

const (
	// workers are those of each controller, as many as upstream has.
	workers = 5
	// replicaBurst is how many pods a ReplicaSet makes at once, as upstream.
	replicaBurst = 500
	// resync is the period of the caches' resyncs: never, since none of the controllers needs them.
	resync = 0
)

// controllers are running. It is safe for concurrent use.
type controllers struct {
	stop     context.CancelFunc
	running  sync.WaitGroup
	shutdown []func()
}

// Start runs the controllers until Close. They are at work when it returns, the garbage
// collector a moment later. ctx gives values alone.
func Start(ctx context.Context, plane *embedded.ControlPlane, o Options) (*controllers, error) {
	c := &controllers{}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.start(ctx, plane, o); err != nil {
		c.Close()
		return nil, fmt.Errorf("controllers: %w", err)
	}
	return c, nil
}

// runner is a controller of upstream's.
type runner interface {
	Run(ctx context.Context, workers int)
}

func (c *controllers) start(ctx context.Context, plane *embedded.ControlPlane, o Options) error {
	reader, _, err := clientsOf(plane, "system:kube-controller-manager")
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(reader, resync)
	c.shutdown = append(c.shutdown, shared.Shutdown)
	started := make(chan struct{})
	defer close(started)
	for account, begin := range beginners(ctx, shared, o) {
		client, objects, err := clientsOf(plane, serviceAccount(account))
		if err != nil {
			return err
		}
		controller, err := begin(client, objects)
		if err != nil {
			return fmt.Errorf("%s: %w", account, err)
		}
		c.running.Go(func() { controller.Run(ctx, workers) })
	}
	if err := c.collectGarbage(ctx, plane, shared, started, cmp.Or(o.Discovery, 30*time.Second)); err != nil {
		return fmt.Errorf("garbage collector: %w", err)
	}
	shared.Start(ctx.Done())
	for kind, synced := range shared.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watch %v: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// beginners returns the constructors of the controllers by the names of their service accounts.
func beginners(ctx context.Context, shared informers.SharedInformerFactory, o Options) map[string]func(*kubernetes.Clientset, metadata.Interface) (runner, error) {
	apps, core, batch := shared.Apps().V1(), shared.Core().V1(), shared.Batch().V1()
	all := map[string]func(*kubernetes.Clientset, metadata.Interface) (runner, error){
		"job-controller": func(client *kubernetes.Clientset, _ metadata.Interface) (runner, error) {
			return newJobs(ctx, client, shared)
		},
		"deployment-controller": func(client *kubernetes.Clientset, _ metadata.Interface) (runner, error) {
			return deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), client)
		},
		"replicaset-controller": func(client *kubernetes.Clientset, _ metadata.Interface) (runner, error) {
			return replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), client, replicaBurst), nil
		},
		"cronjob-controller": func(client *kubernetes.Clientset, _ metadata.Interface) (runner, error) {
			return cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), client)
		},
		"statefulset-controller": func(client *kubernetes.Clientset, _ metadata.Interface) (runner, error) {
			return statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(),
				apps.ControllerRevisions(), client), nil
		},
		"daemon-set-controller": func(client *kubernetes.Clientset, _ metadata.Interface) (runner, error) {
			return daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(),
				client, flowcontrol.NewBackOff(time.Second, 15*time.Minute)) // upstream's
		},
	}
	if o.Namespaces {
		all["namespace-controller"] = func(client *kubernetes.Clientset, objects metadata.Interface) (runner, error) {
			return namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
				core.Namespaces(), resync, corev1.FinalizerKubernetes), nil
		}
	}
	return all
}

// Close stops the controllers and waits for them. It may be called more than once.
func (c *controllers) Close() {
	c.stop()
	c.running.Wait()
	for _, shutdown := range c.shutdown {
		shutdown()
	}
}

// clientsOf returns clients with a user's rights: one of Kubernetes' own kinds, and one of the metadata
// of objects of all kinds.
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

// serviceAccount is the user that kube-controller-manager is as one of its controllers.
func serviceAccount(controller string) string {
	return "system:serviceaccount:kube-system:" + controller
}

// collectGarbage runs the garbage collector, which besides the shared caches has its own of each kind.
func (c *controllers) collectGarbage(ctx context.Context, plane *embedded.ControlPlane, shared informers.SharedInformerFactory,
	started <-chan struct{}, discovery time.Duration) error {
	client, objects, err := clientsOf(plane, serviceAccount("generic-garbage-collector"))
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	all := metadatainformer.NewSharedInformerFactory(objects, resync)
	c.shutdown = append(c.shutdown, all.Shutdown)
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(shared, all), started)
	if err != nil {
		return err
	}
	c.running.Go(func() { collector.Sync(ctx, client.Discovery(), discovery) })
	c.running.Go(func() { collector.Run(ctx, workers, discovery) })
	return nil
}
