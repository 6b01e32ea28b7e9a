package profiles

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/profile/profiler/view"
)

const appliedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: applied, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: applied}}
  template:
    metadata: {labels: {app: applied}}
    spec: {containers: [{name: main, image: "example.org/main:1", resources: {requests: {cpu: "4", memory: 4Gi}}}]}
`

// The documented ways to apply a recommendation print no warning, however the object is managed, and
// change only the requests; so does a second time, when nothing changes.
func TestDocumentedApplyWarnsOfNothing(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not installed")
	}
	client, kubeconfig := cluster.Connect(t)
	run := func(t *testing.T, args ...string) {
		t.Helper()
		var output strings.Builder
		command := exec.CommandContext(t.Context(), kubectl, append([]string{"--kubeconfig", kubeconfig}, args...)...)
		command.Stderr = &output
		if err := command.Run(); err != nil || output.Len() > 0 {
			t.Fatalf("kubectl %s: %v, %s", strings.Join(args, " "), err, output.String())
		}
	}
	p := &v1alpha1.WorkloadProfile{ObjectMeta: metav1.ObjectMeta{Name: "applied", Namespace: "default"}}
	p.Spec.Workload = v1alpha1.WorkloadReference{Kind: "Deployment", Name: "applied"}
	p.Status.Recommendation = &v1alpha1.Recommendation{ContainerRecommendations: []v1alpha1.ContainerRecommendation{{
		ContainerName: "main", Target: v1alpha1.Amounts{CPU: resource.MustParse("148651u"), Memory: resource.MustParse("200Mi")},
	}}}
	manifest, err := view.Manifest(p, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kept, recommended := filepath.Join(dir, "kept.yaml"), filepath.Join(dir, "recommended.json")
	for file, text := range map[string]string{kept: appliedDeployment, recommended: string(text)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, way := range []struct{ name, kept, applied string }{
		{"server-side", "apply --server-side", "apply --server-side --force-conflicts --field-manager spazio-recommend"},
		{"created", "create", "apply --server-side --force-conflicts --field-manager spazio-recommend"},
		{"client-side", "apply", "patch --patch-file " + recommended + " --field-manager spazio-recommend"},
	} {
		t.Run(way.name, func(t *testing.T) {
			run(t, append(strings.Fields(way.kept), "-f", kept)...)
			t.Cleanup(func() {
				_ = client.AppsV1().Deployments("default").Delete(context.Background(), "applied", metav1.DeleteOptions{})
			})
			for range 2 {
				run(t, append(strings.Fields(way.applied), "-f", recommended)...)
			}
			got, err := client.AppsV1().Deployments("default").Get(t.Context(), "applied", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			main := got.Spec.Template.Spec.Containers[0]
			if r := main.Resources.Requests; r.Cpu().String() != "149m" || r.Memory().String() != "200Mi" || main.Image != "example.org/main:1" {
				t.Errorf("got container %+v", main)
			}
		})
	}
}
