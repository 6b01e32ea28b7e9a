package informer

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Strip reduces an unstructured object to the fields named by their paths, its kind and its
// identity. A field of an unexpected form counts as absent.
func Strip(obj any, fields ...[]string) (any, error) {
	whole, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	kept := &unstructured.Unstructured{Object: make(map[string]any)}
	kept.SetGroupVersionKind(whole.GroupVersionKind())
	kept.SetNamespace(whole.GetNamespace())
	kept.SetName(whole.GetName())
	kept.SetUID(whole.GetUID())
	kept.SetResourceVersion(whole.GetResourceVersion())
	for _, field := range fields {
		value, found, err := unstructured.NestedFieldNoCopy(whole.Object, field...)
		if err != nil || !found {
			continue
		}
		if err := unstructured.SetNestedField(kept.Object, value, field...); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
