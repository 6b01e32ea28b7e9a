package testbeds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/convert"
)

// children returns operator/workload's golden children of a kind, against which its test checks its
// jobs.
func children(t *testing.T, files string) (all []*unstructured.Unstructured) {
	t.Helper()
	paths, err := filepath.Glob("../../../../operator/workload/testdata/golden/" + files)
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct{ Child map[string]any }
		if err := yaml.Unmarshal(text, &golden); err != nil {
			t.Fatal(err)
		}
		child := &unstructured.Unstructured{Object: golden.Child}
		child.SetNamespace(metav1.NamespaceDefault)
		all = append(all, child)
	}
	return all
}

// taken checks that the API server accepts the objects with all their fields, and refuses an unknown
// one.
func taken(t *testing.T, client dynamic.Interface, resource schema.GroupVersionResource, objects []*unstructured.Unstructured) {
	t.Helper()
	r := client.Resource(resource).Namespace(metav1.NamespaceDefault)
	for _, o := range objects {
		if _, err := r.Create(t.Context(), o, dry); err != nil {
			t.Errorf("%s: %v", o.GetName(), err)
		}
		more := o.DeepCopy()
		more.Object["spec"].(map[string]any)["unknownField"] = true
		if _, err := r.Create(t.Context(), more, dry); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "unknownField") {
			t.Errorf("%s with an unknown field: %v", o.GetName(), err)
		}
	}
}

func TestJobSchema(t *testing.T) {
	client := clientOf(t, cluster.Plane(t).RESTConfig())
	taken(t, client, schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, children(t, "job*.yaml"))
}

// The definition of the Spark operator accepts our SparkApplications.
func TestSparkSchema(t *testing.T) {
	client := clientOf(t, cluster.Plane(t).RESTConfig())
	resource := schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"}
	defineFrom(t, client, "testdata/sparkapplications.yaml", resource)
	taken(t, client, resource, children(t, "spark*.yaml"))
}

// The definition of FlinkDeployments accepts ours: by default the one with only the fields that we
// write, with -flink-crd FILE the Flink operator's.
func TestFlinkSchema(t *testing.T) {
	client := clientOf(t, cluster.Plane(t).RESTConfig())
	resource := schema.GroupVersionResource{Group: "flink.apache.org", Version: "v1beta1", Resource: "flinkdeployments"}
	file := "testdata/flinkdeployments.yaml"
	if *cluster.FlinkCRD != "" {
		file = *cluster.FlinkCRD
	}
	defineFrom(t, client, file, resource)
	taken(t, client, resource, children(t, "flink*.yaml"))
}

// The output of spazio convert for the thesis' manifests is accepted.
func TestConverted(t *testing.T) {
	client := connect(t)
	old, err := os.ReadFile("../../../../operator/convert/testdata/old.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := convert.Manifests(old)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, document := range strings.Split(string(text), "---\n") {
		o := parse(t, document)
		for resource, kind := range kinds {
			if o.GetKind() == kind {
				count++
				o.SetNamespace(metav1.NamespaceDefault)
				if _, err := resourceOf(client, resource).Create(t.Context(), o, dry); err != nil {
					t.Errorf("%s: %v", o.GetName(), err)
				}
			}
		}
	}
	if count != 4 {
		t.Errorf("%d objects", count)
	}
}

func defineFrom(t *testing.T, client dynamic.Interface, file string, resource schema.GroupVersionResource) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	define(t, client, text)
	served(t, client, resource)
}
