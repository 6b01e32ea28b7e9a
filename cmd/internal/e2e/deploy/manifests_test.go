package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

const (
	root    = "../../../.."
	install = "install" // the variant without components

	systemNamespace, agentNamespace = "spazio-system", "spazio-agent"
)

// variants returns the defaults, and each component added to them.
func variants(t *testing.T) []string {
	t.Helper()
	return append(deploy.Components(), install)
}

func variant(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	config := deploy.Config{Components: []string{name}}
	if name == install {
		config.Components = nil
	}
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// all returns the objects of a kind as their type.
func all[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) (typed []T) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &one, true); err != nil {
			t.Fatalf("%s %s: %v", kind, o.GetName(), err)
		}
		typed = append(typed, one)
	}
	return typed
}

// A workload is a template of pods.
type workload struct {
	name, namespace string
	template        corev1.PodTemplateSpec
}

func workloads(t *testing.T, objects []*unstructured.Unstructured) (found []workload) {
	t.Helper()
	add := func(meta metav1.ObjectMeta, template corev1.PodTemplateSpec) {
		found = append(found, workload{meta.Name, meta.Namespace, template})
	}
	for _, w := range all[appsv1.DaemonSet](t, objects, "DaemonSet") {
		add(w.ObjectMeta, w.Spec.Template)
	}
	for _, w := range all[appsv1.Deployment](t, objects, "Deployment") {
		add(w.ObjectMeta, w.Spec.Template)
	}
	for _, w := range all[appsv1.StatefulSet](t, objects, "StatefulSet") {
		add(w.ObjectMeta, w.Spec.Template)
	}
	for _, w := range all[batchv1.Job](t, objects, "Job") {
		add(w.ObjectMeta, w.Spec.Template)
	}
	for _, w := range all[batchv1.CronJob](t, objects, "CronJob") {
		add(w.ObjectMeta, w.Spec.JobTemplate.Spec.Template)
	}
	return found
}

// server is the process's API server as the manifests meet it.
type server struct{ dynamic.Interface }

func connect(t *testing.T) server {
	t.Helper()
	config := cluster.Plane(t).RESTConfig()
	config.ContentType = ""
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return server{client}
}

// apply applies an object by server-side apply, strictly, or in a dry run.
func (s server) apply(t *testing.T, o *unstructured.Unstructured, dryRun bool) error {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	options := metav1.PatchOptions{FieldManager: "test", Force: new(true), FieldValidation: metav1.FieldValidationStrict}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	_, err = s.Resource(resource).Namespace(o.GetNamespace()).Patch(t.Context(), o.GetName(), "application/apply-patch+yaml", text, options)
	return err
}

// install applies the objects, in namespaces that stay.
func (s server) install(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		cluster.Eventually(t, o.GetKind()+" "+o.GetName()+" is applied", func() (bool, any) {
			err := s.apply(t, o, false)
			return err == nil, err
		})
	}
}

// foreign are the modules with the definitions of foreign custom resources.
var foreign = []struct{ module, files string }{
	{"github.com/cert-manager/cert-manager", "deploy/crds/cert-manager.io_*.yaml"},
	{"github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/monitoring.coreos.com_*monitors.yaml"},
	{"github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
}

// define installs all custom resources used in manifests, the profiler's from the manifests themselves.
func (s server) define(t *testing.T) {
	t.Helper()
	var definitions []*unstructured.Unstructured
	for _, f := range foreign {
		// tools pins the version.
		command := exec.Command("go", "mod", "download", "-json", f.module)
		command.Dir, command.Env = root+"/tools", append(os.Environ(), "GOWORK=off")
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%v: %v %s", command, err, out)
		}
		var module struct{ Dir string }
		if err := json.Unmarshal(out, &module); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(module.Dir, f.files))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no %s: %v", f.module, f.files, err)
		}
		for _, file := range files {
			definitions = append(definitions, cluster.ReadManifests(t, file)...)
		}
	}
	s.install(t, append(definitions, profiles(t)...))
}

// profiles returns the definitions of the profiler's custom resources.
func profiles(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return slices.DeleteFunc(variant(t, install), func(o *unstructured.Unstructured) bool { return o.GetKind() != "CustomResourceDefinition" })
}
