package deploy

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// The API server takes every object of every variant and combination of values, unknown
// and repeated fields refused.
func TestStrictDryRun(t *testing.T) {
	s := connect(t)
	s.define(t)
	// Namespace of cert-manager; the variant needs it.
	s.install(t, []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "cert-manager"},
	}}})
	all := combinations(t)
	for _, name := range variants(t) {
		all[name] = variant(t, name)
	}
	taken := map[string]bool{}
	for name, objects := range all {
		t.Run(name, func(t *testing.T) {
			for _, o := range objects {
				if o.GetKind() == "Namespace" {
					s.install(t, []*unstructured.Unstructured{o})
				}
			}
			for _, o := range objects {
				text, err := o.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if taken[string(text)] { // as another variant has it
					continue
				}
				taken[string(text)] = true
				// A namespace or a definition may not be known everywhere at once.
				cluster.Eventually(t, fmt.Sprintf("%s %s is taken", o.GetKind(), o.GetName()), func() (bool, any) {
					err := s.apply(t, o, true)
					if err != nil && !strings.Contains(err.Error(), "not find") && !strings.Contains(err.Error(), "not found") {
						t.Fatalf("%s %s/%s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
					}
					return err == nil, err
				})
			}
		})
	}
	t.Run("a wrong field is refused", func(t *testing.T) {
		for _, o := range variant(t, install) {
			if o.GetKind() == "DaemonSet" {
				o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["hostPIDs"] = true
				if err := s.apply(t, o, true); err == nil || !strings.Contains(err.Error(), "hostPIDs") {
					t.Errorf("%v", err)
				}
			}
		}
	})
}

// needs are the checks of the Pod Security Standards that pods fail, by variant and workload, in the
// API server's words. All others pass "restricted".
var needs = map[string]map[string][2]string{ // baseline, restricted
	"cgroup-v1": {"spazio-agent": {
		`host namespaces (hostPID=true), hostPath volumes (volume "cgroup")`,
		`host namespaces (hostPID=true), restricted volume types (volume "cgroup" uses restricted volume type "hostPath")`,
	}},
	"agent-kube": {},
	"energy": {"spazio-agent": {
		`hostPath volumes (volumes "cgroup", "sys-class", "sys-devices")`,
		`restricted volume types (volumes "cgroup", "sys-class", "sys-devices" use restricted volume type "hostPath"), runAsNonRoot != true (container "agent" must not set securityContext.runAsNonRoot=false), runAsUser=0 (container "agent" must not set runAsUser=0)`,
	}},
}

// agentNeeds are those of the agent elsewhere.
var agentNeeds = map[string][2]string{"spazio-agent": {
	`hostPath volumes (volume "cgroup")`,
	`restricted volume types (volume "cgroup" uses restricted volume type "hostPath")`,
}}

// Pods are admitted in their namespaces; all except the agents also under the "restricted" standard,
// which agents fail only for the host's directories and, if they read energy counters, for their user.
func TestPodSecurity(t *testing.T) {
	s := connect(t)
	client, _ := cluster.Connect(t)
	for _, standard := range []string{"baseline", "restricted"} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: standard, Labels: map[string]string{"pod-security.kubernetes.io/enforce": standard}}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.CoreV1().Namespaces().Delete(context.Background(), standard, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, name := range variants(t) {
		objects := variant(t, name)
		for _, o := range objects {
			if o.GetKind() == "Namespace" {
				s.install(t, []*unstructured.Unstructured{o})
			}
		}
		expected, ok := needs[name]
		if !ok {
			expected = agentNeeds
		}
		for _, w := range workloads(t, objects) {
			t.Run(name+"/"+w.name, func(t *testing.T) {
				// The previous variant may have labelled the same namespace with another standard, and
				// admission follows with a delay.
				cluster.Eventually(t, w.name+" is admitted in its own namespace", func() (bool, any) {
					fails := violations(t, client, w, w.namespace)
					return fails == "", fails
				})
				want := expected[w.name]
				for i, standard := range []string{"baseline", "restricted"} {
					if fails := violations(t, client, w, standard); fails != want[i] {
						t.Errorf("under %s it fails %q, want %q", standard, fails, want[i])
					}
				}
			})
		}
	}
	for name, objects := range combinations(t) {
		for _, w := range workloads(t, objects) {
			if w.name == "spazio-agent" {
				continue
			}
			if fails := violations(t, client, w, "restricted"); fails != "" {
				t.Errorf("%s: %s fails %q", name, w.name, fails)
			}
		}
	}
}

var violated = regexp.MustCompile(`violates PodSecurity "[a-z]+:latest": (.*)$`)

// violations returns the checks that a workload's pod fails in a namespace.
func violations(t *testing.T, client kubernetes.Interface, w workload, namespace string) (fails string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: w.name + "-", Labels: w.template.Labels}, Spec: w.template.Spec}
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	cluster.Eventually(t, "the pod's namespace is as it was made", func() (bool, any) {
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, options)
		if err == nil {
			return true, nil
		}
		if reason := violated.FindStringSubmatch(err.Error()); reason != nil {
			fails = reason[1]
			return true, nil
		}
		return false, err
	})
	return fails
}
