package profiles

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

const (
	gib = 1 << 30
	// A node has memory for two heavy pods and all light ones, and beside these and one heavy pod for a
	// second one with the caution for a well-known demand, half as much again; a typical pod is assumed
	// to need an eighth of it.
	nodeMemory, heavyMemory, lightMemory = 128 * gib, 48 * gib, gib / 4
	typicalShare                         = 1. / 8
)

// fleet is nodes whose pods use memory by their Deployment's name; it reports for them, and reads their
// pods for a profiler.
type fleet struct {
	// heavy, light and growing are Deployments that no other test uses.
	heavy, light, growing string
	t                     *testing.T
	client                kubernetes.Interface
	names                 []string
	usage                 []*nodeAgent
	sends                 []*publish.Signals

	mu             sync.Mutex
	sequence       uint64
	read           map[string]bool     // pods by UID
	most           map[string]int64    // the most memory used by the pods of a node
	mispredictions map[string][]uint64 // reported mispredictions by node
}

// startFleet runs until the test's end.
func startFleet(t *testing.T, client kubernetes.Interface, nodes int, scheduler, profiler string) *fleet {
	t.Helper()
	id := strconv.FormatInt(time.Now().UnixNano(), 36)
	f := &fleet{heavy: "heavy" + id, light: "light" + id, growing: "growing" + id, t: t, client: client, read: map[string]bool{}, most: map[string]int64{}, mispredictions: map[string][]uint64{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i := range nodes {
		name := fmt.Sprint("sized-", i)
		cluster.Register(t, client, name)
		t.Cleanup(func() { _ = client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}) })
		signals, err := publish.NewSignals(publish.SignalsConfig{Targets: []string{scheduler}, Backoff: publish.Backoff{Max: 200 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = signals.Run(ctx) })
		f.names, f.sends = append(f.names, name), append(f.sends, signals)
		f.usage = append(f.usage, startAgent(t, publish.UsagesConfig{Node: name, Targets: []string{profiler}}))
	}
	running.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				f.report(ctx)
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return f
}

func deploymentOf(pod *corev1.Pod) string {
	name, _, _ := strings.Cut(pod.Name, "-")
	return name
}

// The two revisions of a Deployment: pods of growing use twice as much from the newer on.
const older, newer = "5d4f8c7b9", "6c9b7f5d8"

func memoryOf(pod *corev1.Pod) int64 {
	deployment := deploymentOf(pod)
	switch {
	case strings.HasPrefix(deployment, "light"):
		return lightMemory
	case strings.HasPrefix(deployment, "growing") && pod.Labels["pod-template-hash"] == older:
		return heavyMemory / 2
	}
	return heavyMemory
}

// report sends the present state of all nodes.
func (f *fleet) report(ctx context.Context) {
	pods, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sequence++
	for i, name := range f.names {
		used, r := int64(0), agent.Report{Node: name, Incarnation: 1, Sequence: f.sequence, SampledAt: time.Now(), Schema: "sized", Limiting: agent.Memory}
		for p := range pods.Items {
			pod := &pods.Items[p]
			if pod.Spec.NodeName != name {
				continue
			}
			used += memoryOf(pod)
			r.Pods = append(r.Pods, reserve.KeyOf(string(pod.UID)))
			if !f.read[string(pod.UID)] {
				f.read[string(pod.UID)] = true
				f.usage[i].read(pod, .1, uint64(memoryOf(pod)))
			}
		}
		slices.Sort(r.Pods)
		f.most[name] = max(f.most[name], used)
		room := 1 - float64(used)/nodeMemory
		r.Avail = room / typicalShare
		r.Channels = []agent.ChannelReport{
			{Name: agent.CPU, Capacity: 1, Cost: 1. / 64, Room: 1, Most: 1, Unit: 1. / 64},
			{Name: agent.Memory, Usage: 1 - room, Capacity: 1, Cost: typicalShare, Room: room, Most: 1, Unit: 1. / nodeMemory},
		}
		for _, key := range f.mispredictions[name] {
			r.Mispredictions = append(r.Mispredictions, agent.Misprediction{Pod: reserve.PodKey(key), MemoryRatio: 100})
		}
		f.sends[i].Send(r, r.SampledAt)
	}
}

// checkMemory fails the test for a node with less memory than its pods used.
func (f *fleet) checkMemory() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, most := range f.most {
		if most > nodeMemory {
			f.t.Errorf("pods on %s used %d GiB", name, most/gib)
		}
	}
}

// submit creates n pods of a Deployment for the scheduler to place.
func (f *fleet) submit(deployment string, from, n int) {
	f.t.Helper()
	f.submitOf(older, deployment, from, n)
}

// submitOf creates pods of a revision.
func (f *fleet) submitOf(revision, deployment string, from, n int) {
	f.t.Helper()
	controls := true
	for i := from; i < from+n; i++ {
		_, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).Create(f.t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%s-%05d", deployment, revision, i), Labels: map[string]string{"pod-template-hash": revision},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-" + revision, UID: "1", Controller: &controls}},
			},
			Spec: corev1.PodSpec{
				SchedulerName: service.SpazioProfile,
				Containers:    []corev1.Container{{Name: "main", Image: "spazio.invalid/" + deployment}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// pods returns those of a Deployment, in the order of their names.
func (f *fleet) pods(deployment string) []corev1.Pod {
	f.t.Helper()
	pods, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return deploymentOf(&pod) != deployment })
}

// bound counts the pods of a Deployment with a node and those without.
func (f *fleet) bound(deployment string) (bound, waiting int) {
	f.t.Helper()
	for _, pod := range f.pods(deployment) {
		if pod.Spec.NodeName == "" {
			waiting++
		} else {
			bound++
		}
	}
	return bound, waiting
}

// end ends the first of a Deployment's pods with a node.
func (f *fleet) end(deployment string) {
	f.t.Helper()
	for _, pod := range f.pods(deployment) {
		if pod.Spec.NodeName != "" {
			if err := f.client.CoreV1().Pods(pod.Namespace).Delete(f.t.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
				f.t.Fatal(err)
			}
			return
		}
	}
	f.t.Fatalf("no pod of %s has a node", deployment)
}

// waitRefused waits until a pod of a Deployment has the reason for its wait.
func (f *fleet) waitRefused(deployment string) {
	f.t.Helper()
	cluster.Eventually(f.t, "the reason of the waiting pod", func() (bool, any) {
		var output []string
		for _, pod := range f.pods(deployment) {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodScheduled && strings.Contains(c.Message, "without enough memory for what the pod is expected to take") {
					return true, nil
				}
				output = append(output, c.Message)
			}
		}
		return false, output
	})
}

func (f *fleet) waitBound(deployment string, n int) {
	f.t.Helper()
	cluster.Eventually(f.t, fmt.Sprintf("%d pods of %s are bound", n, deployment), func() (bool, any) {
		bound, waiting := f.bound(deployment)
		return bound == n, fmt.Sprint(bound, " bound, ", waiting, " waiting")
	})
}

// waitReported waits until the nodes have reported all bound pods.
func (f *fleet) waitReported(hub *plugin.Hub) {
	f.t.Helper()
	cluster.Eventually(f.t, "all pods are reported", func() (bool, any) {
		nodes := hub.Snapshot()
		return !slices.ContainsFunc(nodes, func(s plugin.NodeState) bool { return s.InFlight > 0 }), nodes
	})
}

func (f *fleet) pod(deployment string, i int) *corev1.Pod {
	f.t.Helper()
	pod, err := f.client.CoreV1().Pods(metav1.NamespaceDefault).Get(f.t.Context(), fmt.Sprintf("%s-5d4f8c7b9-%05d", deployment, i), metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return pod
}
