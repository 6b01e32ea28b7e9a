// Command schedulertest is a test of a scheduler of one's own, from end to end
// and without a cluster: an API server in this process, simulated nodes that run
// what is bound to them, and kube-scheduler with a plugin. It schedules a pod,
// waits until it has run and stops everything.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	node, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("the pod ran on", node)
}

// run returns the node on which the plugin had a pod run.
func run(ctx context.Context) (node string, err error) {
	plane, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()

	done := make(chan simnode.Event, 1)
	nodes, err := simnode.Start(ctx, simnode.Config{
		Cluster: plane.RESTConfig(),
		Nodes:   3,
		Clock:   simnode.NewClock(time.Now(), 10),
		Observer: func(e simnode.Event) {
			if e.Phase == simnode.Succeeded {
				done <- e
			}
		},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, nodes.Close()) }()

	stop, err := startScheduler(ctx, plane.RESTConfig())
	if err != nil {
		return "", err
	}
	defer stop()
	if err := submit(ctx, plane.RESTConfig()); err != nil {
		return "", err
	}
	select {
	case e := <-done:
		return e.Node, nil
	case <-nodes.Failed():
		return "", nodes.Err()
	case <-plane.Failed():
		return "", plane.Err()
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// startScheduler runs kube-scheduler with the plugin until stop is called.
func startScheduler(ctx context.Context, config *rest.Config) (stop func(), err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	profiles, err := profiles()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	informers := scheduler.NewInformerFactory(client, 0, nil)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	s, err := scheduler.New(ctx, client, informers, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithProfiles(profiles...),
		scheduler.WithComponentConfigVersion(configv1.SchemeGroupVersion.String()),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{name: newPlugin}))
	if err != nil {
		cancel()
		broadcaster.Shutdown()
		return nil, err
	}
	broadcaster.StartRecordingToSink(ctx.Done())
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		informers.Shutdown()
		broadcaster.Shutdown()
	}, nil
}

// profiles is the default profile with the plugin in it.
func profiles() ([]schedulerapi.KubeSchedulerProfile, error) {
	versioned := configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{{
		Plugins: &configv1.Plugins{MultiPoint: configv1.PluginSet{Enabled: []configv1.Plugin{{Name: name}}}},
	}}}
	scheme.Scheme.Default(&versioned)
	var internal schedulerapi.KubeSchedulerConfiguration
	err := scheme.Scheme.Convert(&versioned, &internal, nil)
	return internal.Profiles, err
}

func submit(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "hello", Annotations: map[string]string{simnode.AnnotationWork: "2"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "hello", Image: "none.invalid/hello"}}},
	}
	_, err = client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// name is the plugin's.
const name = "LastName"

// lastName lets pods run on the node whose name ends with a 3 alone.
type lastName struct{}

var _ fwk.FilterPlugin = lastName{}

func newPlugin(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return lastName{}, nil
}

// Name implements fwk.Plugin.
func (lastName) Name() string { return name }

// Filter implements fwk.FilterPlugin.
func (lastName) Filter(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if n := node.Node().Name; n[len(n)-1] != '3' {
		return fwk.NewStatus(fwk.Unschedulable, "not the third node")
	}
	return nil
}
