package deploy

import (
	"errors"
	"fmt"
	"path"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kustomization is what tools/deploy writes of a component: patches by JSON patch
// (RFC 6902), or "$patch: delete".
type kustomization struct {
	Resources []string `json:"resources"`
	Patches   []struct {
		Target struct {
			Kind      string `json:"kind"`
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"target"`
		Patch string `json:"patch"`
	} `json:"patches"`
}

var errNoTarget = errors.New("there is no such object")

// add applies a component to the objects, which it may change.
func add(objects []*unstructured.Unstructured, texts map[string]string, dir string) ([]*unstructured.Unstructured, error) {
	var k kustomization
	if err := yaml.Unmarshal([]byte(texts[path.Join(dir, "kustomization.yaml")]), &k); err != nil {
		return nil, err
	}
	for _, p := range k.Patches {
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == p.Target.Kind && o.GetName() == p.Target.Name && o.GetNamespace() == p.Target.Namespace
		})
		if i < 0 {
			return nil, fmt.Errorf("%s %s/%s: %w", p.Target.Kind, p.Target.Namespace, p.Target.Name, errNoTarget)
		}
		patched, err := patch(objects[i], p.Patch)
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", p.Target.Kind, p.Target.Namespace, p.Target.Name, err)
		}
		if patched == nil {
			objects = slices.Delete(objects, i, i+1)
			continue
		}
		objects[i] = patched
	}
	for _, file := range k.Resources {
		added, err := decode(texts[path.Join(dir, file)])
		if err != nil {
			return nil, err
		}
		objects = append(objects, added...)
	}
	return objects, nil
}

// patch returns the object as it is to be, or nil if it is not to be.
func patch(o *unstructured.Unstructured, text string) (*unstructured.Unstructured, error) {
	var whole struct {
		Patch string `json:"$patch"`
	}
	if yaml.Unmarshal([]byte(text), &whole) == nil && whole.Patch == "delete" {
		return nil, nil
	}
	operations, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return nil, err
	}
	document, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if document, err = decoded.Apply(document); err != nil {
		return nil, err
	}
	patched := &unstructured.Unstructured{}
	return patched, patched.UnmarshalJSON(document)
}
