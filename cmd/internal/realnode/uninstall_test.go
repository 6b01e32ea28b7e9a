//go:build realnode && linux

package realnode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// What our manifests made is gone when they are: every object of every resource is one
// that was there before. (The last test: file names give the order.)
func TestUninstall(t *testing.T) {
	install(t)
	client := dynamicClient(t)
	for _, o := range slices.Backward(applied) {
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		background := metav1.DeletePropagationBackground
		if err := client.Resource(resource).Namespace(o.GetNamespace()).Delete(t.Context(), o.GetName(),
			metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	eventually(t, "nothing of ours is left", func(context.Context) error {
		if left := slices.DeleteFunc(inventory(t), func(o string) bool { return slices.Contains(beforeInstall, o) }); len(left) > 0 {
			return fmt.Errorf("left are %v", left)
		}
		return nil
	})
	if lost := slices.DeleteFunc(slices.Clone(beforeInstall), func(o string) bool { return slices.Contains(inventory(t), o) }); len(lost) > 0 {
		t.Errorf("gone with it are %v", lost)
	}
}

// passing are resources whose objects come and go by themselves.
var passing = []string{"events", "leases", "pods", "endpointslices", "componentstatuses", "ipaddresses"}

// inventory names every object in the API that stays.
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
				objects = append(objects, strings.Join([]string{r.Name, o.GetNamespace(), o.GetName()}, "/"))
			}
		}
	}
	return objects
}
