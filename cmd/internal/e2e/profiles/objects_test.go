package profiles

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/profile"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// define adds the definitions to the API server, and waits until it serves them.
func define(t *testing.T, client dynamic.Interface) {
	t.Helper()
	texts := v1alpha1.CRDs()
	for _, text := range texts {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			t.Fatal(err)
		}
		_, err := client.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("the API server refuses a definition: %v", err)
		}
	}
	for _, resource := range []string{v1alpha1.Profiles, v1alpha1.Checkpoints} {
		cluster.Eventually(t, resource+" are served", func() (bool, any) {
			_, err := client.Resource(v1alpha1.GroupVersion.WithResource(resource)).List(t.Context(), metav1.ListOptions{})
			return err == nil, err
		})
	}
}

// connect returns an administrator's clients of an API server with the definitions. The test's pods are
// deleted with it.
func connect(t *testing.T) (kubernetes.Interface, dynamic.Interface) {
	t.Helper()
	client, _ := cluster.Connect(t)
	objects := dynamicClient(t)
	define(t, objects)
	t.Cleanup(func() { cluster.Remove(t, client) })
	return client, objects
}

// undefine removes the profiles' definition, with all profiles.
func undefine(t *testing.T, client dynamic.Interface) {
	t.Helper()
	name := v1alpha1.Profiles + "." + v1alpha1.GroupVersion.Group
	if err := client.Resource(definitions).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the definition is gone", func() (bool, any) {
		_, err := client.Resource(definitions).Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}

// forget removes all profiles and checkpoints, which the next profiler would read.
func forget(t *testing.T, client dynamic.Interface) {
	t.Helper()
	for _, resource := range []string{v1alpha1.Profiles, v1alpha1.Checkpoints} {
		kind := client.Resource(v1alpha1.GroupVersion.WithResource(resource))
		list, err := kind.List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, o := range list.Items {
			err := kind.Namespace(o.GetNamespace()).Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
}

func dynamicClient(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Plane(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// typedClient returns a REST client as in the package's documentation.
func typedClient(t *testing.T) rest.Interface {
	t.Helper()
	config := cluster.Plane(t).RESTConfig()
	config.ContentType = "application/json"
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &v1alpha1.GroupVersion, "/apis", v1alpha1.Codecs
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

const wholeProfile = `
apiVersion: profile.spazio-scheduler.github.io/v1alpha1
kind: WorkloadProfile
metadata: {name: whole, namespace: default}
spec:
  workload: {kind: Deployment, name: web}
  mode: Observe
  preset: vpa
  minAllowed: {cpu: 10m, memory: 1Mi}
  maxAllowed: {cpu: 2, memory: 4Gi}
  application: shop
status:
  observedAt: "2026-11-22T09:00:00Z"
  revision: 5d4f8c7b9
  pods: 31
  demand: &demand
    cpu: {amount: 250m, sd: 20m, confidence: "0.9375"}
    memory: {amount: 300Mi, sd: "0", confidence: "1"}
  slots: [*demand, *demand, *demand, *demand]
  lifetime: {p50: 30s, p90: 1m40s}
  recommendation:
    containerRecommendations:
    - containerName: main
      target: {cpu: 300m, memory: 400Mi}
      lowerBound: {cpu: 200m, memory: 300Mi}
      upperBound: {cpu: 400m, memory: 500Mi}
      uncappedTarget: {cpu: 300m, memory: 400Mi}
  application: shop
  connections:
  - {kind: Deployment, namespace: default, name: db, requestBytesPerSecond: 100, responseBytesPerSecond: 2000}
  throttled: "0.01"
  oomKills: 1
  conditions:
  - {type: Ready, status: "True", reason: Measured, message: "", lastTransitionTime: "2026-11-22T09:00:00Z"}
`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// The real API server accepts the definitions, the cost of their rules included, and a profile with
// every field, and returns it through the types.
func TestDefinitionsPassTheAPIServer(t *testing.T) {
	client := dynamicClient(t)
	define(t, client)
	profiles := client.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Profiles)).Namespace(metav1.NamespaceDefault)
	whole := parse(t, wholeProfile)
	made, err := profiles.Create(t.Context(), whole, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = profiles.Delete(context.Background(), "whole", metav1.DeleteOptions{}) })
	if made.Object["status"] != nil {
		t.Errorf("a user who may create a profile set its status: %v", made.Object["status"])
	}
	whole.SetResourceVersion(made.GetResourceVersion())
	if _, err := profiles.UpdateStatus(t.Context(), whole, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	var typed v1alpha1.WorkloadProfile
	if err := typedClient(t).Get().Namespace(metav1.NamespaceDefault).Resource(v1alpha1.Profiles).Name("whole").Do(t.Context()).Into(&typed); err != nil {
		t.Fatal(err)
	}
	demand, err := typed.Status.Demand.Value()
	want := profile.Demand{CPU: profile.Share{Amount: .25, SD: .02, Confidence: .9375}, Memory: profile.Share{Amount: 300 << 20, Confidence: 1}}
	if err != nil || demand != want {
		t.Errorf("demand %+v, %v; want %+v", demand, err, want)
	}
	text, err := yaml.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.Object["status"], parse(t, string(text)).Object["status"]); diff != "" {
		t.Errorf("the types lose a part of the status: %s", diff)
	}
}

// An invalid object is refused with the name of each field.
func TestBadObjectsAreRefusedFieldByField(t *testing.T) {
	client := dynamicClient(t)
	define(t, client)
	profiles := client.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Profiles)).Namespace(metav1.NamespaceDefault)
	object := parse(t, wholeProfile)
	object.SetName("spoilt")
	made, err := profiles.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = profiles.Delete(context.Background(), "spoilt", metav1.DeleteOptions{}) })
	for _, test := range []struct {
		path  string // dots between keys, numbers are indices
		value any
		names string // what the refusal names
	}{
		{"spec.workload.name", "other", "spec.workload"},
		{"spec.workload.kind", "", "spec.workload.kind"},
		{"spec.mode", "Sometimes", "spec.mode"},
		{"spec.preset", "mine", "spec.preset"},
		{"spec.minAllowed.cpu", "-1m", "spec.minAllowed.cpu"},
		{"spec.maxAllowed.memory", "-1", "spec.maxAllowed.memory"},
		{"spec.maxAllowed.cpu", "9m", "spec.maxAllowed.cpu"},
		{"spec.minAllowed.memory", "5Gi", "spec.maxAllowed.memory"},
		{"spec.minAllowed.memory", "much", "spec.minAllowed.memory"},
		{"spec.application", strings.Repeat("a", 254), "spec.application"},
		{"status.pods", int64(-1), "status.pods"},
		{"status.demand.cpu.amount", "-250m", "status.demand.cpu.amount"},
		{"status.demand.memory.sd", "-1", "status.demand.memory.sd"},
		{"status.demand.memory.confidence", "1.5", "status.demand.memory.confidence"},
		{"status.demand.cpu.confidence", "certain", "status.demand.cpu.confidence"},
		{"status.slots.2.cpu.amount", "-1", "status.slots[2].cpu.amount"},
		{"status.recommendation.containerRecommendations.0.target.memory", "-1Mi", "target.memory"},
		{"status.connections.0.requestBytesPerSecond", int64(-1), "requestBytesPerSecond"},
		{"status.throttled", "-0.1", "status.throttled"},
		{"status.oomKills", int64(-1), "status.oomKills"},
	} {
		bad := object.DeepCopy()
		bad.SetResourceVersion(made.GetResourceVersion())
		if err := set(bad.Object, strings.Split(test.path, "."), test.value); err != nil {
			t.Fatalf("%s: %v", test.path, err)
		}
		var err error
		if strings.HasPrefix(test.path, "status.") {
			_, err = profiles.UpdateStatus(t.Context(), bad, metav1.UpdateOptions{})
		} else {
			_, err = profiles.Update(t.Context(), bad, metav1.UpdateOptions{})
		}
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%s = %v: %v", test.path, test.value, err)
		}
	}
}

// set sets the value at a path.
func set(object any, path []string, value any) error {
	last := len(path) == 1
	switch in := object.(type) {
	case map[string]any:
		if last {
			in[path[0]] = value
			return nil
		}
		return set(in[path[0]], path[1:], value)
	case []any:
		var i int
		if _, err := fmt.Sscan(path[0], &i); err != nil || i >= len(in) || last {
			return fmt.Errorf("no element %s", path[0])
		}
		return set(in[i], path[1:], value)
	}
	return fmt.Errorf("nothing at %v", path)
}
