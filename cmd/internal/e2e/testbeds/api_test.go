package testbeds

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

var (
	strict = metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	dry    = metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}}
)

func clientOf(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// connect returns an administrator's client of an API server that serves the kinds.
func connect(t *testing.T) dynamic.Interface {
	t.Helper()
	client := clientOf(t, cluster.Plane(t).RESTConfig())
	texts := v1alpha1.CRDs()
	for _, text := range texts {
		define(t, client, text)
	}
	for _, resource := range []string{v1alpha1.Testbeds, v1alpha1.BatchJobs, v1alpha1.Schedulings} {
		served(t, client, v1alpha1.GroupVersion.WithResource(resource))
	}
	return client
}

// insist retries if the API server timed out, so that the outcome is unknown.
func insist(ask func() error) error {
	err := ask()
	for apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		if err = ask(); apierrors.IsAlreadyExists(err) {
			return nil
		}
	}
	return err
}

// define adds a definition to the API server.
func define(t *testing.T, client dynamic.Interface, text []byte) {
	t.Helper()
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	err := insist(func() error {
		_, err := client.Resource(definitions).Create(t.Context(), parse(t, string(text)), strict)
		return err
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("the API server refuses a definition: %v", err)
	}
}

func served(t *testing.T, client dynamic.Interface, resource schema.GroupVersionResource) {
	t.Helper()
	cluster.Eventually(t, resource.Resource+" are served", func() (bool, any) {
		_, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		return err == nil, err
	})
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// kinds by resource.
var kinds = map[string]string{v1alpha1.Testbeds: "Testbed", v1alpha1.BatchJobs: "BatchJob", v1alpha1.Schedulings: "Scheduling"}

// object returns an object of one of our kinds with a spec.
func object(t *testing.T, resource, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := parse(t, "{spec: "+spec+"}")
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kinds[resource]))
	o.SetNamespace(metav1.NamespaceDefault)
	o.SetName(name)
	return o
}

func resourceOf(client dynamic.Interface, resource string) dynamic.ResourceInterface {
	return client.Resource(v1alpha1.GroupVersion.WithResource(resource)).Namespace(metav1.NamespaceDefault)
}

// create creates an object and deletes it with the test.
func create(t *testing.T, r dynamic.ResourceInterface, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made, err := r.Create(t.Context(), o, strict)
	if err != nil {
		t.Fatalf("%s: %v", o.GetName(), err)
	}
	t.Cleanup(func() {
		if err := r.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return made
}
