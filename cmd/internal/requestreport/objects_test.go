package requestreport

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// What is requested is as kube-scheduler counts it, and what stays of it is apart.
func TestRequestsOfAPod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	requests := func(cpu, memory string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: list(cpu, memory)}
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   boundPod
	}{
		"containers": {func(*corev1.Pod) {}, boundPod{Requests: profile.Amounts{CPU: .5, Memory: gibibyte}}},
		"a sidecar": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always, Resources: requests("1", "1Gi")}}
		}, boundPod{Requests: profile.Amounts{CPU: 1.5, Memory: 2 * gibibyte}}},
		"init containers": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Resources: requests("2", "")}, {Resources: requests("1", "512Mi")}}
		}, boundPod{Requests: profile.Amounts{CPU: 2, Memory: gibibyte}, Floor: profile.Amounts{CPU: 2, Memory: gibibyte / 2}}},
		"overhead": {func(p *corev1.Pod) { p.Spec.Overhead = list("250m", "128Mi") },
			boundPod{Requests: profile.Amounts{CPU: .75, Memory: gibibyte + 128<<20}, Overhead: profile.Amounts{CPU: .25, Memory: 128 << 20}}},
		"a resize of the pod": {func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("1", "1Gi")}
			p.Status.Resources = &corev1.ResourceRequirements{Requests: list("2", "1Gi")} // not yet
			p.Status.AllocatedResources = list("2", "1Gi")
		}, boundPod{Requests: profile.Amounts{CPU: 2, Memory: gibibyte}}},
	} {
		p := pod("shop", "web", "run12", "near", "500m", "1Gi")
		test.change(&p)
		text, err := json.Marshal(map[string]any{"items": []any{node("near"), p}})
		if err != nil {
			t.Fatal(err)
		}
		in, err := Collect(t.Context(), Config{Timeout: 1, Objects: strings.NewReader(string(text))})
		if err != nil {
			t.Fatal(err)
		}
		got := boundPod{Requests: in.pods[0].Requests, Floor: in.pods[0].Floor, Overhead: in.pods[0].Overhead}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Nodes that are cordoned or not ready take no pods, and a profile's conditions are in the report.
func TestConditions(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"nothing known": {func(*corev1.Node) {}, false},
		"ready": {func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		}, false},
		"not ready": {func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		}, true},
		"silent": {func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		}, true},
		"cordoned": {func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
	} {
		n, p := node("near"), pod("shop", "web", "run12", "near", "500m", "1Gi")
		test.change(&n)
		_, _, profiles := cluster()
		profiles[0].Status.Conditions = []metav1.Condition{{Type: v1alpha1.HorizontallyScaled, Status: metav1.ConditionTrue}}
		text, err := json.Marshal(map[string]any{"items": []any{n, p, profiles[0]}})
		if err != nil {
			t.Fatal(err)
		}
		in, err := Collect(t.Context(), Config{Timeout: 1, Objects: strings.NewReader(string(text))})
		if err != nil {
			t.Fatal(err)
		}
		if in.nodes[0].Unschedulable != test.want || !in.profiles[0].HorizontallyScaled || in.profiles[0].Stale {
			t.Errorf("%s: %+v, %+v", name, in.nodes[0], in.profiles[0])
		}
	}
}

// The file that kubectl writes says the same as the API server.
func TestObjectsOfAFile(t *testing.T) {
	r := gather(t, Config{Objects: strings.NewReader(file(t))})
	live := gather(t, Config{Cluster: server(t, func(times int) any { return why(times) }, nil)})
	if diff := cmp.Diff(live.Workloads, r.Workloads, near); diff != "" {
		t.Error(diff)
	}
	if r.Total.MeasuredNodes != 0 || r.Total.Nodes != 2 || r.Total.Used.Mean.CPU.Known {
		t.Errorf("%+v", r.Total)
	}
}

// A file of two lists may have a pod in both; it counts once.
func TestPodsCountOnce(t *testing.T) {
	once := gather(t, Config{Objects: strings.NewReader(file(t))})
	twice := gather(t, Config{Objects: strings.NewReader(file(t) + file(t))})
	if diff := cmp.Diff(once, twice, near); diff != "" {
		t.Error(diff)
	}
}

// file is what kubectl writes of the cluster.
func file(t testing.TB) string {
	t.Helper()
	nodes, pods, profiles := cluster()
	items := []any{}
	for i := range nodes {
		items = append(items, nodes[i])
	}
	for i := range pods {
		items = append(items, pods[i])
	}
	for i := range profiles {
		items = append(items, profiles[i])
	}
	items = append(items, map[string]any{"kind": "Secret"})
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever a file holds, there is a report of it or an error that names it.
func FuzzObjects(f *testing.F) {
	f.Add(file(f))
	f.Add(`{"items": [{"kind": "Pod"}, {"kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "-1"}}}]}`)
	f.Add(`{"items": [{"kind": "Node", "metadata": {}}, {"kind": "Pod", "spec": {"nodeName": "n"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		in, err := Collect(t.Context(), Config{Timeout: 1, Objects: strings.NewReader(text)})
		if err != nil {
			if field.By(err, "requestreport") == nil {
				t.Fatal(err)
			}
			return
		}
		if _, err := New(in); err != nil && field.By(err, "requestreport", "profile") == nil {
			t.Fatal(err)
		}
	})
}
