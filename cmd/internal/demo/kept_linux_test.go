package demo

import (
	"os"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	e2e "github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

func access(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// listed returns the names of the objects of a kind in all namespaces.
func listed(t *testing.T, kubeconfig, path string) (names []string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(access(t, kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	text, err := client.RESTClient().Get().AbsPath(path).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list metav1.PartialObjectMetadataList
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		names = append(names, o.Name)
	}
	return names
}

// patience bounds each wait; it is no expected duration.
const patience = 3 * time.Minute

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// A kept cluster runs the user's manifests: a Job completes, a Deployment has its pods, and a test bed
// its slots, in which a BatchJob runs.
func TestKeptClusterTakesManifests(t *testing.T) {
	kubeconfig := t.TempDir() + "/kubeconfig"
	process := e2e.StartProgram(t, "--pods=2", "--cpu-seconds=1", "--nodes=2", "--time-scale=10", "--profiles=spazio", "--unlike=false", "--output=json", "--keep", "--kubeconfig="+kubeconfig)
	process.WaitFor(t, "the cluster is kept")
	config := access(t, kubeconfig)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	template := func(restart corev1.RestartPolicy, work string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "mine"}, Annotations: map[string]string{simnode.AnnotationWork: work}},
			Spec:       corev1.PodSpec{SchedulerName: spazioProfile, RestartPolicy: restart, Containers: []corev1.Container{{Name: "main", Image: "mine.invalid/mine"}}},
		}
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: batchv1.JobSpec{Template: template(corev1.RestartPolicyNever, "1")}}
	if _, err := client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "mine"}}, Template: template(corev1.RestartPolicyAlways, "100000"),
	}}
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job is done", func() bool {
		got, err := client.BatchV1().Jobs("default").Get(t.Context(), "mine", metav1.GetOptions{})
		return err == nil && got.Status.Succeeded == 1
	})
	eventually(t, "the Deployment is available", func() bool {
		got, err := client.AppsV1().Deployments("default").Get(t.Context(), "mine", metav1.GetOptions{})
		return err == nil && got.Status.AvailableReplicas == 2
	})
	config.ContentType = ""
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	labelled := nodes.Items[0]
	labelled.Labels["bed"] = "mine"
	if _, err := client.CoreV1().Nodes().Update(t.Context(), &labelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	beds := objects.Resource(schema.GroupVersionResource{Group: "testbed.spazio-scheduler.github.io", Version: "v1alpha1", Resource: "testbeds"}).Namespace("default")
	bed := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "testbed.spazio-scheduler.github.io/v1alpha1", "kind": "Testbed", "metadata": map[string]any{"name": "mine"},
		"spec": map[string]any{"nodeLabel": "bed", "slotsPerNode": int64(2), "resourcesPerSlot": map[string]any{"cpu": "500m", "memory": "128Mi"}},
	}}
	if _, err := beds.Create(t.Context(), bed, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the test bed has its slots", func() bool {
		got, err := beds.Get(t.Context(), "mine", metav1.GetOptions{})
		if err != nil {
			return false
		}
		free, _, _ := unstructured.NestedInt64(got.Object, "status", "counts", "free")
		return free == 2
	})
	run := func(kind, resource string, spec map[string]any) dynamic.ResourceInterface {
		client := objects.Resource(schema.GroupVersionResource{Group: "testbed.spazio-scheduler.github.io", Version: "v1alpha1", Resource: resource}).Namespace("default")
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "testbed.spazio-scheduler.github.io/v1alpha1", "kind": kind, "metadata": map[string]any{"name": "mine"}, "spec": spec,
		}}
		if _, err := client.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return client
	}
	run("BatchJob", "batchjobs", map[string]any{"jobSpec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{simnode.AnnotationWork: "1"}},
		"spec":     map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "mine.invalid/mine"}}},
	}}})
	schedulings := run("Scheduling", "schedulings", map[string]any{"testbed": map[string]any{"name": "mine"}, "queueBased": []any{map[string]any{"name": "mine"}}})
	eventually(t, "the BatchJob has run in a slot", func() bool {
		got, err := schedulings.Get(t.Context(), "mine", metav1.GetOptions{})
		if err != nil {
			return false
		}
		state, _, _ := unstructured.NestedString(got.Object, "status", "state")
		return state == "Completed"
	})
	process.Signal(t, syscall.SIGINT)
	if code := process.End(t); code != command.ExitOK {
		t.Errorf("exit code %d:\n%s", code, process.Said())
	}
	if _, err := os.Stat(kubeconfig); !os.IsNotExist(err) {
		t.Errorf("kubeconfig after the end: got %v", err)
	}
	process.CheckNothingLeft(t)
}
