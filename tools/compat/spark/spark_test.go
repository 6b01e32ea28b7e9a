package spark

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kubeflow/spark-operator/v2/api/v1beta2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
)

// digest is the checksum of the reviewed definition.
const digest = "ecd9c14fcadb9d5f8ced4c4ee31920548ea53a892e0a69c3e43aa758bfca6d94"

var update = flag.Bool("update", false, "copy the definition of SparkApplication from the operator's module")

// The copy of the definition, for the tests of cmd/internal/e2e/testbeds, equals the module's file.
func TestDefinition(t *testing.T) {
	const copied = "../../../cmd/internal/e2e/testbeds/testdata/sparkapplications.yaml"
	want := read(t, "config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml")
	if sum := sha256.Sum256(want); hex.EncodeToString(sum[:]) != digest {
		t.Fatalf("not the reviewed definition: sha256 %x", sum)
	}
	if *update {
		if err := os.WriteFile(copied, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the module's; -update copies it", copied)
	}
}

// read reads a file of the operator's module.
func read(t *testing.T, file string) []byte {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/spark-operator/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The operator's own types decode our SparkApplications strictly, and lose nothing: their encoding has
// all that we wrote.
func TestApplications(t *testing.T) {
	files, err := filepath.Glob("../../../operator/workload/testdata/golden/spark*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			child := applicationOf(t, path)
			written, err := json.Marshal(child)
			if err != nil {
				t.Fatal(err)
			}
			decoder := json.NewDecoder(bytes.NewReader(written))
			decoder.DisallowUnknownFields()
			var application v1beta2.SparkApplication
			if err := decoder.Decode(&application); err != nil {
				t.Fatalf("%v: %s", err, written)
			}
			encoded, err := json.Marshal(application)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, written), within(object(t, written), object(t, encoded))); diff != "" {
				t.Errorf("the operator's types lose (-) of ours: %s", diff)
			}
			executor := application.Spec.Executor
			if executor.Instances == nil || executor.Memory == nil || executor.CoreRequest == nil ||
				executor.Labels[v1alpha1.LabelRole] != v1alpha1.RoleSlot || application.Spec.Driver.Labels[v1alpha1.LabelRole] != "" ||
				application.Spec.RestartPolicy.Type != v1beta2.RestartPolicyNever {
				t.Errorf("%+v", application.Spec)
			}
		})
	}
}

// applicationOf returns the child in a golden file, against which the test of operator/workload checks
// its jobs.
func applicationOf(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Child map[string]any }
	if err := yaml.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	return golden.Child
}

func object(t *testing.T, data []byte) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// within returns the part of a value that another one has as well; the types' additions are left out.
func within(pattern, value any) any {
	switch p := pattern.(type) {
	case map[string]any:
		v, _ := value.(map[string]any)
		kept := map[string]any{}
		for key, inner := range p {
			if _, ok := v[key]; ok {
				kept[key] = within(inner, v[key])
			}
		}
		return kept
	case []any:
		v, _ := value.([]any)
		if len(v) != len(p) {
			return value
		}
		kept := make([]any, len(p))
		for i := range p {
			kept[i] = within(p[i], v[i])
		}
		return kept
	}
	return value
}

// Each of the operator's states has its meaning for the adapter: a new state of the operator fails
// here, since it has no line.
func TestStates(t *testing.T) {
	known := map[v1beta2.ApplicationStateType]workload.Phase{
		v1beta2.ApplicationStateNew:              workload.Pending,
		v1beta2.ApplicationStateSubmitted:        workload.Pending,
		v1beta2.ApplicationStateRunning:          workload.Running,
		v1beta2.ApplicationStateCompleted:        workload.Succeeded,
		v1beta2.ApplicationStateFailed:           workload.Failed,
		v1beta2.ApplicationStateFailedSubmission: workload.Pending,
		v1beta2.ApplicationStatePendingRerun:     workload.Pending,
		v1beta2.ApplicationStateInvalidating:     workload.Pending,
		v1beta2.ApplicationStateSucceeding:       workload.Running,
		v1beta2.ApplicationStateFailing:          workload.Pending, // its driver has failed
		v1beta2.ApplicationStateSuspending:       workload.Pending,
		v1beta2.ApplicationStateSuspended:        workload.Pending,
		v1beta2.ApplicationStateResuming:         workload.Pending,
		v1beta2.ApplicationStateUnknown:          workload.Pending,
	}
	for _, state := range declaredStates(t) {
		phase, ok := known[v1beta2.ApplicationStateType(state)]
		if !ok {
			t.Errorf("the operator has a new state %q", state)
			continue
		}
		if got := statusOf(t, state).Phase; got != phase {
			t.Errorf("%q is %v, want %v", state, got, phase)
		}
	}
}

// statusOf decodes a status as the operator writes it.
func statusOf(t *testing.T, state string) workload.Status {
	t.Helper()
	application := v1beta2.SparkApplication{Status: v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateType(state)}}}
	data, err := json.Marshal(application)
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := workload.Of(&v1alpha1.BatchJobSpec{SparkSpec: &runtime.RawExtension{}})
	if err != nil {
		t.Fatal(err)
	}
	return adapter.Status(&unstructured.Unstructured{Object: object(t, data)})
}
