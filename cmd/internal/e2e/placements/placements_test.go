package placements_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// clusters is the number of compared clusters.
const clusters = 1000

// In random clusters of different nodes and random pods, with requests and without, each pod is placed
// as by the default profile of the real kube-scheduler: on a node that its plugins admit with the
// highest score, or nowhere if they admit none.
func TestDefaultPlacesAsKubeScheduler(t *testing.T) {
	placeAlike(t, sim.Default{}, newProfile(t, config.LeastAllocated))
}

// The same holds for a packing profile.
func TestMostAllocatedPlacesAsKubeScheduler(t *testing.T) {
	placeAlike(t, sim.MostAllocated{}, newProfile(t, config.MostAllocated))
}

func placeAlike(t *testing.T, scheduler sim.Scheduler, real *profile) {
	t.Helper()
	placed, waiting, tied := 0, 0, 0
	for seed := range uint64(clusters) {
		c, pods := random(seed)
		c.Scheduler = scheduler
		r, err := sim.Run(t.Context(), c, pods)
		if err != nil {
			t.Fatal(err)
		}
		real.cluster(c)
		for i, record := range r.Records {
			scores := real.scores(t, podOf(i, pods[i]))
			if record.Node < 0 {
				waiting++
				if len(scores) > 0 {
					t.Fatalf("seed %d: pod %d (%+v) waits, kube-scheduler scores %v", seed, i, pods[i], scores)
				}
				continue
			}
			name := nodeName(record.Node)
			score, fits := scores[name]
			for other, s := range scores {
				if s > score || !fits {
					t.Fatalf("seed %d: pod %d (%+v) is on %s, kube-scheduler prefers %s: %v", seed, i, pods[i], name, other, scores)
				}
				if s == score && other != name {
					tied++
				}
			}
			if !fits {
				t.Fatalf("seed %d: pod %d (%+v) is on %s, which kube-scheduler refuses", seed, i, pods[i], name)
			}
			real.place(podOf(i, pods[i]), record.Node)
			placed++
		}
	}
	t.Logf("%d pods placed alike, %d nowhere; %d other nodes of the same score", placed, waiting, tied)
	if placed < 10*clusters || waiting < clusters/2 || tied > placed*3 {
		t.Error("the clusters are too easy to distinguish the schedulers")
	}
}

// random returns a cluster of at most eight nodes and successive pods that outlast the run.
func random(seed uint64) (sim.Config, []sim.Pod) {
	rng := rand.New(rand.NewPCG(seed, 77))
	c := sim.Config{Seed: seed, Horizon: 20, MaxPods: 4 + rng.IntN(12), Reserved: &baseline.Resources{}}
	for range 1 + rng.IntN(8) {
		c.Sizes = append(c.Sizes, []int{2, 4, 4, 8, 16}[rng.IntN(5)])
	}
	pods := make([]sim.Pod, 10+rng.IntN(40))
	for i := range pods {
		p := sim.Pod{Created: .1 * float64(i), Work: 1e6, Cores: .001}
		amount := func() baseline.Resources {
			var r baseline.Resources
			if rng.IntN(4) > 0 {
				r.CPU = float64(1+rng.IntN(2500)) / 1000
			}
			if rng.IntN(4) > 0 {
				r.Memory = float64(1 + rng.Int64N(6<<30))
			}
			return r
		}
		switch rng.IntN(4) {
		case 0: // nothing
		case 1: // limits only, which become requests
			p.Limit = amount()
		default:
			p.Request = amount()
		}
		pods[i] = p
	}
	return c, pods
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func podOf(i int, p sim.Pod) *corev1.Pod {
	list := func(r baseline.Resources) corev1.ResourceList {
		l := corev1.ResourceList{}
		if r.CPU > 0 {
			l[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(r.CPU*1000+.5), resource.DecimalSI)
		}
		if r.Memory > 0 {
			l[corev1.ResourceMemory] = *resource.NewQuantity(int64(r.Memory), resource.BinarySI)
		}
		return l
	}
	requests, limits := list(p.Request), list(p.Limit)
	for name, quantity := range limits { // as the API server does
		if _, ok := requests[name]; !ok {
			requests[name] = quantity
		}
	}
	name := fmt.Sprintf("pod-%d", i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits},
		}}},
	}
}

// profile is the default profile of the real kube-scheduler, except for its strategy, with a snapshot
// from the test.
type profile struct {
	framework.Framework
	lister *lister
}

// lister is a replaceable snapshot.
type lister struct{ *cache.Snapshot }

func newProfile(t *testing.T, strategy config.ScoringStrategyType) *profile {
	t.Helper()
	metrics.Register()
	defaults, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range defaults.Profiles[0].PluginConfig {
		if args, ok := c.Args.(*config.NodeResourcesFitArgs); ok {
			args.ScoringStrategy.Type, found = strategy, true
		}
	}
	if !found {
		t.Fatal("the default profile lacks NodeResourcesFit")
	}
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	l := &lister{cache.NewEmptySnapshot()}
	f, err := frameworkruntime.NewFramework(t.Context(), plugins.NewInTreeRegistry(), withoutDevices(&defaults.Profiles[0]),
		frameworkruntime.WithClientSet(client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(l))
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return &profile{f, l}
}

// withoutDevices removes the plugin for devices, which no pod here requests and which requires a
// manager.
func withoutDevices(p *config.KubeSchedulerProfile) *config.KubeSchedulerProfile {
	p.Plugins.MultiPoint.Disabled = append(p.Plugins.MultiPoint.Disabled, config.Plugin{Name: "DynamicResources"})
	var kept []config.Plugin
	for _, plugin := range p.Plugins.MultiPoint.Enabled {
		if plugin.Name != "DynamicResources" {
			kept = append(kept, plugin)
		}
	}
	p.Plugins.MultiPoint.Enabled = kept
	return p
}

// cluster makes a snapshot of empty nodes.
func (p *profile) cluster(c sim.Config) {
	var nodes []*corev1.Node
	for i, cores := range c.Sizes {
		nodes = append(nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{corev1.LabelHostname: nodeName(i)}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(int64(cores), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(int64(cores)*4<<30, resource.BinarySI),
				corev1.ResourcePods:   *resource.NewQuantity(int64(c.MaxPods), resource.DecimalSI),
			}},
		})
	}
	p.lister.Snapshot = cache.NewSnapshot(nil, nodes)
}

func (p *profile) place(pod *corev1.Pod, node int) {
	info, err := p.lister.NodeInfos().Get(nodeName(node))
	if err != nil {
		panic(err)
	}
	pod.Spec.NodeName = nodeName(node)
	info.(*framework.NodeInfo).AddPod(pod)
}

// scores returns those of the nodes that the plugins admit.
func (p *profile) scores(t *testing.T, pod *corev1.Pod) map[string]int64 {
	t.Helper()
	ctx, state := context.Background(), framework.NewCycleState()
	all, err := p.lister.NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	if _, status, _ := p.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() {
		if status.IsRejected() {
			return nil
		}
		t.Fatal(status.AsError())
	}
	var fit []fwk.NodeInfo
	for _, info := range all {
		if status := p.RunFilterPlugins(ctx, state, pod, info); status.IsSuccess() {
			fit = append(fit, info)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	if status := p.RunPreScorePlugins(ctx, state, pod, fit); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	scores, status := p.RunScorePlugins(ctx, state, pod, fit)
	if !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	totals := map[string]int64{}
	for _, s := range scores {
		totals[s.Name] = s.TotalScore
	}
	return totals
}
