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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// uninstall removes our programs and their objects.
func uninstall(t *testing.T) {
	t.Helper()
	uninstallBy(t, removeByCommand)
}

// uninstallBy does the same in a given way.
func uninstallBy(t *testing.T, remove func(*testing.T)) {
	t.Helper()
	remove(t)
	installed = false
	eventually(t, "nothing of ours is left", func(context.Context) error {
		if left := without(inventory(t), beforeInstall); len(left) > 0 {
			return fmt.Errorf("left are %v", left)
		}
		return nil
	})
	if lost := without(beforeInstall, inventory(t)); len(lost) > 0 {
		t.Errorf("got removed foreign objects %v", lost)
	}
}

// without returns the names that the others lack.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(o string) bool { return slices.Contains(others, o) })
}

var (
	// passing are resources whose objects come and go by themselves.
	passing = []string{"events"}
	// late are names of what Kubernetes' controllers make some time after a node has joined.
	late = []string{"kube-root-ca.crt", "node.alpha.kubernetes.io/ttl"}
)

// inventory names every object in the API that stays, and what nodes are marked with.
func inventory(t *testing.T) (objects []string) {
	t.Helper()
	lists, err := node.client.Discovery().ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		t.Fatal(err)
	}
	client := dynamicClient(t)
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || slices.Contains(passing, r.Name) {
				continue
			}
			found, err := client.Resource(version.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("%s: %v", r.Name, err)
			}
			for _, o := range found.Items {
				if o.GetNamespace() == corev1.NamespaceNodeLease || slices.Contains(late, o.GetName()) { // created by the kubelet at some time
					continue
				}
				name := strings.Join([]string{r.Name, o.GetNamespace(), o.GetName()}, "/")
				objects = append(objects, name)
				if r.Name != "nodes" {
					continue
				}
				for _, marks := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
					for key := range marks {
						if !slices.Contains(late, key) {
							objects = append(objects, name+" "+key)
						}
					}
				}
			}
		}
	}
	return objects
}
