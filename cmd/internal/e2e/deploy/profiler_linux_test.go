package deploy

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/reserve"
)

// The profiler uses its permissions while it learns workloads, gets mispredictions from their pods,
// finds a profile that another writer changed, and forgets workloads for lack of room.
func TestRightsOfTheProfiler(t *testing.T) {
	const node = "profiled"
	client, _ := cluster.Connect(t)
	s, k := connect(t), kubelet{client}
	objects := variant(t, install)
	s.begin(t, client, objects)
	all := workloads(t, objects)
	certs := k.place(t, find(t, all, "spazio-certs"), "")
	for i, arg := range certs.Args {
		if strings.HasPrefix(arg, "--server=spazio-profiler") {
			certs.Args[i] += ",localhost" // by which it is reached here
		}
	}
	if output, err := certs.Run(t); err != nil {
		t.Fatalf("spazio-certs: %v\n%s", err, output)
	}
	profiler := k.place(t, find(t, all, "spazio-profiler"), "")
	profiler.Args = append(profiler.Args, "--debug-listen=", "--refresh=1s", "--max-workloads=2")
	// As with an API server without streaming lists: reflectors list then.
	profiler.Env = []string{"KUBE_FEATURE_WatchListClient=false"}
	profiler.Start(t)
	pair, err := tls.LoadX509KeyPair(flag(t, profiler, "tls-dir")+"/tls.crt", flag(t, profiler, "tls-dir")+"/tls.key")
	if err != nil {
		t.Fatal(err)
	}
	cluster.WaitMetric(t, cluster.NewScraper("http://"+profiler.ports[9702], ""), `spazio_certificate_not_after_seconds{use="own"}`, float64(pair.Leaf.NotAfter.Unix()))

	a := k.place(t, find(t, all, "spazio-agent"), node)
	usages := sendUsage(t, publish.UsagesConfig{
		Node: node, Targets: []string{"localhost:" + profiler.port(t, 9696)}, Incarnation: uint64(time.Now().UnixNano()),
		Transport: transport.Config{CAFile: flag(t, a, "tls-dir") + "/ca.crt"}, TokenFile: flag(t, a, "token-dir") + "/profiler",
		Backoff: publish.Backoff{Min: 10 * time.Millisecond, Max: 100 * time.Millisecond},
	})
	t.Cleanup(func() { cluster.Remove(t, client) })
	// Pods arrive while the test waits, and their usage changes now and then.
	s.meanwhile(t, func(ctx context.Context, i int) {
		workload := "steady"
		if i%16 == 15 {
			workload = fmt.Sprintf("passing-%d", i) // there is room for one beside the steady one
		}
		pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, owned(workload, node, i), metav1.CreateOptions{})
		if err != nil {
			return
		}
		const age = 10 * time.Second
		memory := uint64(50<<20) << (i / 8 % 2 * 5)
		usages.Take(time.Now(), []agent.PodReading{{
			Pod: reserve.KeyOf(string(pod.UID)), Age: age, CPU: age / 10, Pressure: true, Memory: memory, MemoryPeak: memory,
		}})
	})
	s.meanwhile(t, func(ctx context.Context, i int) {
		resource := s.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Profiles)).Namespace(metav1.NamespaceDefault)
		list, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		for _, o := range list.Items {
			_, _ = resource.Patch(ctx, o.GetName(), types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"edited":"%d"}}}`, i), metav1.PatchOptions{})
		}
	})
	judge(t, s, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() != "spazio-profiler" }))
}

// sendUsage starts an agent's client for usage.
func sendUsage(t *testing.T, c publish.UsagesConfig) *publish.Usages {
	t.Helper()
	usages, err := publish.NewUsages(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = usages.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return usages
}

// meanwhile runs something repeatedly until the test's end.
func (server) meanwhile(t *testing.T, something func(ctx context.Context, i int)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				something(ctx, i)
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

// owned returns a pod as a Deployment's controllers create it, bound to a node.
func owned(deployment, node string, i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, i), Labels: map[string]string{"pod-template-hash": "5d4f8c7b9"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", UID: "1", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/" + deployment}}},
	}
}
