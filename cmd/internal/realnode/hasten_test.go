//go:build realnode && linux

package realnode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// hasten limits the maxWait of a scheduler that was installed in another way to -max-wait: on a machine
// with much other load a test of anything else would wait for ten minutes.
func hasten(t *testing.T) {
	t.Helper()
	const before, indent = "listen: :9690\n", "          "
	if *maxWait == 0 || strings.Contains(configuration(t).Data["config.yaml"], "maxWait:") {
		return
	}
	configure(t, func(text string) string {
		return strings.Replace(text, before, before+indent+"maxWait: "+maxWait.String()+"\n", 1)
	})
}

// configure changes the scheduler's configuration under its installer's field manager, and returns when
// schedulers with the new one run.
func configure(t *testing.T, change func(string) string) {
	t.Helper()
	core, config := node.client.CoreV1(), configuration(t)
	text := change(config.Data["config.yaml"])
	if text == config.Data["config.yaml"] {
		t.Fatalf("nothing to change in\n%s", text)
	}
	labels := map[string]any{}
	for key, value := range config.Labels {
		labels[key] = value
	}
	applyAs(t, installer(config), []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": config.Name, "namespace": config.Namespace, "labels": labels},
		"data":     map[string]any{"config.yaml": text},
	}}})
	schedulers := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=spazio-scheduler"}
	pods, err := core.Pods(deploy.SystemNamespace).List(t.Context(), schedulers)
	if err != nil {
		t.Fatal(err)
	}
	former := map[types.UID]bool{}
	for _, pod := range pods.Items {
		former[pod.UID] = true
	}
	if err := core.Pods(deploy.SystemNamespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, schedulers); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a scheduler with the new configuration leads", func(ctx context.Context) error {
		pods, err := core.Pods(deploy.SystemNamespace).List(ctx, schedulers)
		if err != nil {
			return err
		}
		leading, err := leads(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == leading && !former[p.UID] }) {
			return fmt.Errorf("%s leads", leading)
		}
		return node.ready(ctx)
	})
}

// configuration returns the scheduler's configuration.
func configuration(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	config, err := node.client.CoreV1().ConfigMaps(deploy.SystemNamespace).Get(t.Context(), "spazio-scheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// installer returns the field manager that applied an object.
func installer(config *corev1.ConfigMap) string {
	for _, fields := range config.ManagedFields {
		if fields.Operation == metav1.ManagedFieldsOperationApply {
			return fields.Manager
		}
	}
	return "kubectl"
}
