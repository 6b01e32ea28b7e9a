package install

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/internal/requestreport"
	"github.com/spazio-scheduler/spazio/profile"
)

// requesting creates a running pod of a Deployment with requests on a node.
func requesting(t *testing.T, client kubernetes.Interface, deployment, node, cpu, memory string) {
	t.Helper()
	yes := true
	pod := foreignPod()
	pod.Name, pod.Labels = deployment+"-5d4f8c7b9-abcde", map[string]string{"pod-template-hash": "5d4f8c7b9"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-5d4f8c7b9", UID: "1", Controller: &yes}}
	pod.Spec.NodeName, pod.Spec.AutomountServiceAccountToken = node, new(false)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	})
	pod.Status.Phase = corev1.PodRunning
	if _, err := client.CoreV1().Pods(pod.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// profiled stores a profile as the profiler does: 256 millicores and 1 GiB per pod, and twice as much
// recommended.
func profiled(t *testing.T, deployment string) {
	t.Helper()
	config := cluster.Plane(t).RESTConfig()
	config.ContentType = ""
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	profiles := untyped.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Profiles)).Namespace(metav1.NamespaceDefault)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer("NAME", v1alpha1.NameOf(profile.Workload{Kind: "Deployment", Name: deployment}), "DEPLOYMENT", deployment).Replace(`
apiVersion: profile.spazio-scheduler.github.io/v1alpha1
kind: WorkloadProfile
metadata: {name: NAME}
spec: {workload: {kind: Deployment, name: DEPLOYMENT}}
status:
  observedAt: "2026-11-29T09:00:00Z"
  pods: 9
  demand: {cpu: {amount: 256m, sd: "0", confidence: "0.75"}, memory: {amount: 1Gi, sd: "0", confidence: "1"}}
  recommendation: {containerRecommendations: [{containerName: c, target: {cpu: 512m, memory: 2Gi}}]}
`)), &o.Object); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "profiles are served", func() (bool, any) {
		_, err := profiles.List(t.Context(), metav1.ListOptions{})
		return err == nil, err
	})
	made, err := profiles.Create(t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = profiles.Delete(context.Background(), made.GetName(), metav1.DeleteOptions{}) })
	made.Object["status"] = o.Object["status"]
	if _, err := profiles.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A user who may read nodes, pods and profiles, and forward ports of agents, sees what requests cost,
// although no pod is Spazio's. Without a permission the user sees the rest, or which permission is
// missing.
func TestReportCommand(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{Components: []string{"profiles-observe"}}), deploy.Options{NoWait: true}); err != nil {
		t.Fatal(err)
	}
	node(t, client, "near", 0)
	n, err := client.CoreV1().Nodes().Get(t.Context(), "near", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110")}
	n.Status.Allocatable = n.Status.Capacity
	if _, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods(t, client, "near")
	defer unpods(t, client)
	requesting(t, client, "wide", "near", "3750m", "8Gi")
	profiled(t, "wide")
	shown := &programs{why: agent.Why{Node: "near", Avail: 7, Channels: []agent.WhyChannel{
		{Name: agent.CPU, Filtered: .125, Room: .875}, {Name: agent.Memory, Filtered: .25, Room: .75},
	}}}
	reader := func(name string, resources ...string) *front {
		grant(t, client, name, []rbacv1.PolicyRule{{APIGroups: []string{"", v1alpha1.GroupVersion.Group}, Resources: resources, Verbs: []string{"list"}}})
		config, err := cluster.Plane(t).UserConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		return newFront(t, config, shown)
	}
	report := func(f *front, length string) (r requestreport.Report) {
		t.Helper()
		got := spazio(t.Context(), "report", "-o", "json", "--for", length, "--kubeconfig="+f.kubeconfig)
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != command.ExitOK {
			t.Fatalf("exit code %d, %v: %s%s", got.code, err, got.stdout, got.errs)
		}
		return r
	}
	whole := reader("report-reader", "nodes", "pods", v1alpha1.Profiles)
	r := report(whole, "10s") // two values: one is not enough for a verdict
	const gib = 1 << 30
	near := r.Nodes[len(r.Nodes)-1]
	if near.Name != "near" || near.Idle == nil || !*near.Idle || near.Requested.CPU != requestreport.Is(3.75) || near.Used.Mean.CPU != requestreport.Is(1) ||
		near.Used.Mean.Memory != requestreport.Is(4*gib) || near.Room.Pods != requestreport.Is(7) || near.Room.CPU != requestreport.Is(3) {
		t.Errorf("%+v", near)
	}
	if w := r.Workloads[0]; w.Name != "wide" || w.Saving.CPU != requestreport.Is(3.75-.512) || w.Saving.Memory != requestreport.Is(6*gib) || w.Need.CPU.Value > .256 || w.Need.CPU.Value < .24 {
		t.Errorf("%+v", w)
	}
	if words := spazio(t.Context(), "report", "--kubeconfig="+whole.kubeconfig); words.code != command.ExitOK || !strings.Contains(words.stdout, "Nodes of which there is one value: 1.") {
		t.Errorf("exit code %d: %s%s", words.code, words.stdout, words.errs)
	}
	unprofiled := report(reader("report-unprofiled", "nodes", "pods"), "0")
	if unprofiled.Workloads[0].Need.CPU.Known || !strings.Contains(strings.Join(unprofiled.Notes, " "), "You may not list WorkloadProfiles") {
		t.Errorf("%+v, %q", unprofiled.Workloads, unprofiled.Notes)
	}
	got := spazio(t.Context(), "report", "--kubeconfig="+reader("report-podless", "nodes", v1alpha1.Profiles).kubeconfig)
	if got.code != command.ExitFailure || !strings.Contains(got.errs, "list pods") || !strings.Contains(got.errs, "cannot list resource") {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.errs)
	}
}
