package relief

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/descheduler/service"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish/publishtest"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/embedded/controllers"
)

// rig is a cluster with a scheduler, upstream's controllers and nodes whose agents report to the
// scheduler and to the descheduler.
type rig struct {
	client     kubernetes.Interface
	kubeconfig string
	// address is where the descheduler listens, log what the process logs.
	address string
	log     *transporttest.Output
	hub     *plugin.Hub
	nodes   []*cluster.PlaceNode
	// args are the descheduler's, limits lines of its policy.
	args   plugin.SpazioArgs
	limits string
}

// newRig has so many nodes with so many places.
func newRig(t *testing.T, nodes, places int) *rig {
	t.Helper()
	r := &rig{address: transporttest.Address(t), log: &transporttest.Output{}}
	r.client, r.kubeconfig = cluster.Connect(t)
	logger, err := command.Log{}.Logger(r.log)
	if err != nil {
		t.Fatal(err)
	}
	klog.SetSlogLogger(logger) // the control plane has set another
	t.Cleanup(func() {
		klog.ClearLogger()
		if t.Failed() {
			t.Log(r.log)
		}
	})
	upstream, err := controllers.Start(t.Context(), cluster.Plane(t), controllers.Options{Discovery: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	r.hub, _ = cluster.StartScheduler(t, r.kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{})
	r.nodes = cluster.NewPlaceNodes(t, r.client, nodes, places, r.hub.Addr().String(), r.address)
	for _, n := range r.nodes {
		n.SetUsage(publishtest.Usage{Cores: cluster.Cores, Bytes: 128 << 30, CPU: 0.3, Memory: 0.1, PodCores: 0.5, PodBytes: 1 << 30})
	}
	cluster.WaitSignals(t, r.hub, "fresh", nodes)
	return r
}

// replicas makes a ReplicaSet and waits until its pods run. The end of the test removes it with its
// pods.
func (r *rig) replicas(t *testing.T, name string, pods int) {
	t.Helper()
	pod := cluster.Batch{Prefix: name, Work: time.Hour}.Pod(0)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	labels := map[string]string{"app": name}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(pods)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: pod.Annotations}, Spec: pod.Spec},
	}}
	sets := r.client.AppsV1().ReplicaSets(metav1.NamespaceDefault)
	if _, err := sets.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sets.Delete(context.Background(), name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
			t.Error(err)
		}
		cluster.Eventually(t, "no pod is left", func() (bool, any) {
			left := r.pods(t, context.Background())
			return len(left) == 0, len(left)
		})
	})
	cluster.Eventually(t, "pods run", func() (bool, any) {
		running := 0
		for _, p := range r.pods(t, t.Context()) {
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == pods, running
	})
}

func (r *rig) pods(t *testing.T, ctx context.Context) []corev1.Pod {
	t.Helper()
	list, err := r.client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// on counts the pods of a node that are not about to end.
func (r *rig) on(t *testing.T, node *cluster.PlaceNode) (count int) {
	t.Helper()
	for _, p := range r.pods(t, t.Context()) {
		if p.Spec.NodeName == node.Name() && p.DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

// heat has other load take so many places more than a node has, with tasks that wait.
func (r *rig) heat(t *testing.T, node *cluster.PlaceNode, missing int) {
	t.Helper()
	node.SetUsage(publishtest.Usage{Cores: cluster.Cores, Bytes: 128 << 30, CPU: 1, Memory: 0.1, PodCores: 0.5, PodBytes: 1 << 30, Waiting: 0.4})
	node.Set(r.on(t, node)-missing, false)
}

// policy is that of a test, which has no minutes: the plugin's own arguments.
const policy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
%sprofiles:
- name: spazio
  plugins: {balance: {enabled: [SpazioRelief]}}
  pluginConfig:
  - {name: DefaultEvictor, args: {}}
  - {name: SpazioRelief, args: {sustained: %v, minAge: 0s, interval: 1s}}
`

// sustained is that of most tests.
const sustained = 500 * time.Millisecond

// cycle is the time between two looks at the nodes.
const cycle = 100 * time.Millisecond

// deschedule runs a descheduler in this process until stop or the test's end.
func (r *rig) deschedule(t *testing.T, kubeconfig string, sustained time.Duration, dryRun bool) (d *service.Descheduler, stop func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, policy, r.limits, sustained), 0o600); err != nil {
		t.Fatal(err)
	}
	args := r.args
	args.Listen, args.MaxAge = r.address, metav1.Duration{Duration: cluster.Patience}
	d, err := service.New(service.Config{Kubeconfig: kubeconfig, PolicyFile: file, Cycle: cycle, DryRun: dryRun, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Errorf("descheduler: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return d, stop
}

// waitLog waits until a line of the log since an offset has all parts.
func (r *rig) waitLog(t *testing.T, from int, parts ...string) {
	t.Helper()
	cluster.Eventually(t, "log has "+strings.Join(parts, " and "), func() (bool, any) {
	lines:
		for line := range strings.Lines(r.log.String()[from:]) {
			for _, part := range parts {
				if !strings.Contains(line, part) {
					continue lines
				}
			}
			return true, nil
		}
		return false, nil
	})
}

// logged counts the lines of the log that have a text.
func (r *rig) logged(text string) int { return strings.Count(r.log.String(), text) }
