package controllers_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/embedded/controllers"
)

// patience bounds each wait; it is no expected duration.
const patience = 3 * time.Minute

func eventually(t *testing.T, what string, holds func() (bool, any)) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		ok, state := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v; got %+v", what, patience, state)
		}
	}
}

var template = corev1.PodTemplateSpec{
	ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
	Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}},
	},
}

// bed is a cluster with controllers.
type bed struct {
	*testing.T
	client kubernetes.Interface
	custom dynamic.Interface
}

func (b bed) pods() []corev1.Pod {
	b.Helper()
	list, err := b.client.CoreV1().Pods("default").List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return list.Items
}

func (b bed) waitPods(n int) {
	b.Helper()
	eventually(b.T, fmt.Sprintf("%d pods", n), func() (bool, any) { got := len(b.pods()); return got == n, got })
}

var background = metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}

// With only their own permissions the controllers create pods, complete Jobs, and remove unowned
// objects, also of kinds added later.
func TestControllers(t *testing.T) {
	plane, err := embedded.Start(t.Context(), embedded.Config{RBAC: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Error(err)
		}
	})
	running, err := controllers.Start(t.Context(), plane, controllers.Options{Discovery: 100 * time.Millisecond, Namespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Close)
	b := bed{T: t}
	config := plane.RESTConfig()
	if b.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	config.ContentType = ""
	if b.custom, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	b.runJob()
	b.runDeployment()
	b.runSets()
	b.deleteOwner()
	b.deleteNamespace()
	running.Close()
	running.Close() // a second Close is no error
}

func (b bed) runJob() {
	jobs := b.client.BatchV1().Jobs("default")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{
		Parallelism: new(int32(2)), Completions: new(int32(2)), Template: template,
	}}
	if _, err := jobs.Create(b.Context(), job, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.waitPods(2)
	for _, pod := range b.pods() {
		done := []byte(`{"status":{"phase":"Succeeded"}}`)
		if _, err := b.client.CoreV1().Pods("default").Patch(b.Context(), pod.Name, types.StrategicMergePatchType, done, metav1.PatchOptions{}, "status"); err != nil {
			b.Fatal(err)
		}
	}
	eventually(b.T, "the Job is complete", func() (bool, any) {
		got, err := jobs.Get(b.Context(), "job", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range got.Status.Conditions {
			if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, got.Status
	})
	if err := jobs.Delete(b.Context(), "job", background); err != nil {
		b.Fatal(err)
	}
	b.waitPods(0)
}

func (b bed) runDeployment() {
	deployments := b.client.AppsV1().Deployments("default")
	always := *template.DeepCopy()
	always.Spec.RestartPolicy = corev1.RestartPolicyAlways
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "deployment"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: always,
	}}
	if _, err := deployments.Create(b.Context(), d, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.waitPods(3)
	lost := b.pods()[0]
	if err := b.client.CoreV1().Pods("default").Delete(b.Context(), lost.Name, metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
	eventually(b.T, "another pod that replaces a lost one", func() (bool, any) {
		pods := b.pods()
		for _, pod := range pods {
			if pod.UID == lost.UID {
				return false, pod.Name
			}
		}
		return len(pods) == 3, len(pods)
	})
	if err := deployments.Delete(b.Context(), "deployment", background); err != nil {
		b.Fatal(err)
	}
	b.waitPods(0)
}

// runSets lets a StatefulSet and a DaemonSet create their pods.
func (b bed) runSets() {
	always := *template.DeepCopy()
	always.Spec.RestartPolicy = corev1.RestartPolicyAlways
	selector := &metav1.LabelSelector{MatchLabels: template.Labels}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	if _, err := b.client.CoreV1().Nodes().Create(b.Context(), node, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	apps := b.client.AppsV1()
	stateful := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "stateful"}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)), Selector: selector, Template: always, PodManagementPolicy: appsv1.ParallelPodManagement,
	}}
	if _, err := apps.StatefulSets("default").Create(b.Context(), stateful, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.waitPods(2)
	if err := apps.StatefulSets("default").Delete(b.Context(), "stateful", background); err != nil {
		b.Fatal(err)
	}
	b.waitPods(0)
	each := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "each"}, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: always}}
	if _, err := apps.DaemonSets("default").Create(b.Context(), each, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.waitPods(1)
	if err := apps.DaemonSets("default").Delete(b.Context(), "each", background); err != nil {
		b.Fatal(err)
	}
	b.waitPods(0)
}

// deleteNamespace deletes a namespace with its objects.
func (b bed) deleteNamespace() {
	namespaces := b.client.CoreV1().Namespaces()
	if _, err := namespaces.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held"}}
	if _, err := b.client.CoreV1().ConfigMaps("short").Create(b.Context(), held, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	if err := namespaces.Delete(b.Context(), "short", metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
	eventually(b.T, "the namespace is gone", func() (bool, any) {
		_, err := namespaces.Get(b.Context(), "short", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}

// deleteOwner lets a custom object own a ConfigMap.
func (b bed) deleteOwner() {
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "owners.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "owners", "kind": "Owner"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
	definitions := b.custom.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(b.Context(), definition, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	owners := b.custom.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "owners"}).Namespace("default")
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Owner", "metadata": map[string]any{"name": "owner"},
	}}
	eventually(b.T, "owners are served", func() (bool, any) {
		made, err := owners.Create(b.Context(), owner, metav1.CreateOptions{})
		if err == nil {
			owner = made
		}
		return err == nil, err
	})
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Owner", Name: "owner", UID: owner.GetUID(),
	}}}}
	maps := b.client.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(b.Context(), owned, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	if err := owners.Delete(b.Context(), "owner", background); err != nil {
		b.Fatal(err)
	}
	eventually(b.T, "the owned object is deleted", func() (bool, any) {
		_, err := maps.Get(b.Context(), "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}
