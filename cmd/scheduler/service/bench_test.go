package service_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/plugin"
)

func benchNode(i int) string { return fmt.Sprintf("node-%04d", i) }

// none is a factory of no recorders, of the type of this Kubernetes version.
func none[R any](string) (r R) { return r }

// bench is a scheduler over nodes that have room by requests, of which full have none by their
// reports. Its profiles are default and spazio.
func bench(b *testing.B, nodes, full int) *scheduler.Scheduler {
	ctx, cancel := context.WithCancel(context.Background())
	room := v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("500")}
	objects := make([]runtime.Object, nodes)
	for i := range objects {
		objects[i] = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: benchNode(i)}, Status: v1.NodeStatus{Capacity: room, Allocatable: room}}
	}
	client := fake.NewClientset(objects...)
	informers := informers.NewSharedInformerFactory(client, 0) // the scheduler's own takes other arguments in older versions
	hub := plugin.NewHub(plugin.HubOptions{})
	s, err := scheduler.New(ctx, client, informers, nil, none,
		scheduler.WithProfiles(benchProfiles(b)...), scheduler.WithComponentConfigVersion(configv1.SchemeGroupVersion.String()),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{plugin.Name: hub.New}))
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	b.Cleanup(func() {
		cancel()
		hub.Wait()
		informers.Shutdown()
	})
	report(b, hub, nodes, full)
	for s.Cache.NodeCount() < nodes {
		time.Sleep(time.Millisecond)
	}
	snapshot, ok := s.Profiles["default"].SnapshotSharedLister().(*cache.Snapshot)
	if !ok {
		b.Fatal("the scheduler's snapshot is of another type")
	}
	if err := s.Cache.UpdateSnapshot(klog.Background(), snapshot); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchProfiles(b *testing.B) []schedulerapi.KubeSchedulerProfile {
	all := int32(100)
	versioned := configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{
		{SchedulerName: new("default"), PercentageOfNodesToScore: &all},
		{SchedulerName: new("spazio"), PercentageOfNodesToScore: &all,
			Plugins:      &configv1.Plugins{MultiPoint: configv1.PluginSet{Enabled: []configv1.Plugin{{Name: plugin.Name}}}},
			PluginConfig: []configv1.PluginConfig{{Name: plugin.Name, Args: runtime.RawExtension{Raw: []byte(`{"listen":"127.0.0.1:0","maxAge":"1h"}`)}}}},
	}}
	scheme.Scheme.Default(&versioned)
	var internal schedulerapi.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &internal, nil); err != nil {
		b.Fatal(err)
	}
	return internal.Profiles
}

// report sends one report for each node and waits until all are known.
func report(b *testing.B, hub *plugin.Hub, nodes, full int) {
	for !hub.Ready() {
		time.Sleep(time.Millisecond)
	}
	var connection *grpc.ClientConn
	for i := range nodes {
		r := agent.Report{Node: benchNode(i), Incarnation: 1, Sequence: 1, Avail: float64(2 + i%16), Limiting: "cpu"}
		if i*7919%5000 < full {
			r.Avail = .5
		}
		if i%100 == 0 { // the most streams of a connection
			var err error
			if connection, err = grpc.NewClient(hub.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = connection.Close() })
		}
		stream, err := spaziov1.NewSignalServiceClient(connection).Publish(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.Send(api.FromReport(r)); err != nil {
			b.Fatal(err)
		}
	}
	for fresh := 0; fresh < nodes; {
		fresh = 0
		for _, n := range hub.Snapshot() {
			if n.Signal == "fresh" {
				fresh++
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func benchPod(b *testing.B, i int) *framework.QueuedPodInfo {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Namespace: "default", UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i))},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("100m"), v1.ResourceMemory: resource.MustParse("100Mi")}}}}},
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		b.Fatal(err)
	}
	return &framework.QueuedPodInfo{PodInfo: info}
}

// BenchmarkSchedulePod is a whole choice of a node by kube-scheduler, without the bind: under the
// default profile, and with the plugin, for pods tried for the first time and for one that is
// retried on every node.
func BenchmarkSchedulePod(b *testing.B) {
	const nodes = 5000
	for _, full := range []int{0, 10, 1000, 2500, 4500, 4950, 5000} {
		s := bench(b, nodes, full)
		for _, c := range []struct {
			name, profile string
			pods          int
		}{{"default", "default", 1024}, {"spazio", "spazio", 1024}, {"again", "spazio", 1}} {
			b.Run(fmt.Sprintf("nodes=%d/full=%d/%s", nodes, full, c.name), func(b *testing.B) {
				ctx := context.Background()
				pods := make([]*framework.QueuedPodInfo, c.pods)
				for i := range pods {
					pods[i] = benchPod(b, 1+i+len(c.name)<<20)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if i == len(pods) && c.pods > 1 {
						b.Fatal("more attempts than pods: lower -benchtime")
					}
					_, err := s.SchedulePod(ctx, s.Profiles[c.profile], framework.NewCycleState(), pods[i%len(pods)])
					if refused := c.profile == "spazio" && full == nodes; (err != nil) != refused {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}
