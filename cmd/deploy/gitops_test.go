package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var yamlBlocks = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")

// documented returns the objects in a document's blocks of YAML.
func documented(t *testing.T, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range yamlBlocks.FindAllStringSubmatch(string(text), -1) {
		found, err := decode(strings.ReplaceAll("\n"+block[2], "\n"+block[1], "\n"))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, found...)
	}
	return objects
}

// of returns an object's value at a path.
func of[T any](t *testing.T, object any, path ...string) (value T) {
	t.Helper()
	at := object
	for _, key := range path {
		at = at.(map[string]any)[key]
	}
	value, ok := at.(T)
	if !ok {
		t.Fatalf("%v is %v", path, at)
	}
	return value
}

// The chart leaves out fields that controllers fill, so that no rule is needed for them.
func TestControllersFieldsAreLeftOut(t *testing.T) {
	for name, values := range variants(t) {
		objects, err := rendered(values)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			for _, field := range []string{"data", "stringData"} {
				if _, there := o.Object[field]; there && (o.GetKind() == "Secret" || o.GetName() == "spazio-trust") {
					t.Errorf("%s: %s %s has %s", name, o.GetKind(), o.GetName(), field)
				}
			}
			if _, there := o.Object["spec"]; there && o.GetKind() == "Lease" {
				t.Errorf("%s: Lease %s has a spec", name, o.GetName())
			}
			if _, there := o.Object["status"]; there {
				t.Errorf("%s: %s %s has a status", name, o.GetKind(), o.GetName())
			}
		}
	}
}

// The page for Argo CD has valid chart values, and every Lease of the chart, which Argo CD leaves
// out.
func TestArgoCD(t *testing.T) {
	documents := documented(t, "../../docs/argocd.md")
	app := documents[0]
	if app.GetKind() != "Application" || of[string](t, app.Object, "spec", "source", "chart") != chartName {
		t.Fatalf("%v", app)
	}
	if _, err := rendered(of[map[string]any](t, app.Object, "spec", "source", "helm", "valuesObject")); err != nil {
		t.Error(err)
	}
	rule := of[[]any](t, app.Object, "spec", "ignoreDifferences")[0]
	if of[string](t, rule, "kind") != "Node" || of[[]any](t, rule, "managedFieldsManagers")[0] != marksManager {
		t.Errorf("%v", rule)
	}
	objects, err := rendered(nested(true, "testbed", "enabled"))
	if err != nil {
		t.Fatal(err)
	}
	leases := func(of []*unstructured.Unstructured) (names []string) {
		for _, o := range of {
			if o.GetKind() == "Lease" {
				names = append(names, o.GetNamespace()+"/"+o.GetName())
			}
		}
		return slices.Sorted(slices.Values(names))
	}
	if got, want := leases(documents[1:]), leases(objects); len(got) == 0 || !slices.Equal(got, want) {
		t.Errorf("leases %v, want %v", got, want)
	}
}

// The page for Flux has valid chart values, and ignores one Job of the chart.
func TestFlux(t *testing.T) {
	documents := documented(t, "../../docs/flux.md")
	if len(documents) != 2 {
		t.Fatalf("%d objects", len(documents))
	}
	source, release := documents[0], documents[1]
	if of[string](t, release.Object, "spec", "chartRef", "kind") != source.GetKind() || of[string](t, release.Object, "spec", "chartRef", "name") != source.GetName() {
		t.Errorf("the release is of another source than %s", source.GetName())
	}
	objects, err := rendered(of[map[string]any](t, release.Object, "spec", "values"))
	if err != nil {
		t.Fatal(err)
	}
	rule := of[[]any](t, release.Object, "spec", "driftDetection", "ignore")[0]
	name := regexp.MustCompile("^" + of[string](t, rule, "target", "name") + "$")
	n := 0
	for _, o := range objects {
		if o.GetKind() == of[string](t, rule, "target", "kind") && name.MatchString(o.GetName()) {
			n++
		}
	}
	if n != 1 {
		text, _ := json.Marshal(rule)
		t.Errorf("%s ignores %d objects", text, n)
	}
}
