package workload_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
)

// golden is a file of testdata/golden, written by hand from the specification.
type golden struct {
	Job     v1alpha1.BatchJob        `json:"job"`
	Request v1alpha1.CreationRequest `json:"request"`
	Pods    int32                    `json:"pods"`
	Child   map[string]any           `json:"child"`
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := yaml.UnmarshalStrict(data, &g); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return g
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.yaml")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			g := readGolden(t, path)
			adapter, err := workload.Of(&g.Job.Spec)
			if err != nil {
				t.Fatal(err)
			}
			job, request := g.Job.DeepCopy(), g.Request.DeepCopy()
			child, err := adapter.Child(job, request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.Child, plain(t, child)); diff != "" {
				t.Errorf("the child is not as specified (-want +got):\n%s", diff)
			}
			if child.GroupVersionKind() != adapter.Kind() {
				t.Errorf("a %v of the adapter of %v", child.GroupVersionKind(), adapter.Kind())
			}
			if pods := adapter.Pods(child); pods != g.Pods {
				t.Errorf("%d pods, want %d", pods, g.Pods)
			}
			if diff := cmp.Diff(&g.Job, job) + cmp.Diff(&g.Request, request); diff != "" {
				t.Errorf("inputs are modified: %s", diff)
			}
			// A second call gives the same result: no state is kept or shared.
			child.Object["spec"].(map[string]any)["changed"] = true
			again, err := adapter.Child(job, request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.Child, plain(t, again)); diff != "" {
				t.Errorf("the second child: %s", diff)
			}
		})
	}
}

// plain returns a child as JSON has it.
func plain(t *testing.T, child *unstructured.Unstructured) map[string]any {
	t.Helper()
	_ = child.DeepCopy() // panics on what JSON does not have
	data, err := json.Marshal(child.Object)
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}
