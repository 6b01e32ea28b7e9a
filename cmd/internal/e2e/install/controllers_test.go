package install

import (
	"context"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// controllers act as kube-controller-manager and kubelets as far as an installation needs them: they
// mark workloads as running, and end namespaces.
type controllers struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// control runs them until the test's end.
func control(t *testing.T) (*deploy.Cluster, kubernetes.Interface) {
	t.Helper()
	config := cluster.Plane(t).RESTConfig()
	installed, err := deploy.Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	installed.Pause = 50 * time.Millisecond
	client, _ := cluster.Connect(t)
	config.ContentType = ""
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := controllers{client, untyped}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			c.workloads(ctx)
			c.namespaces(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return installed, client
}

// workloads marks the desired pods as running. Errors are retried in the next round.
func (c controllers) workloads(ctx context.Context) {
	everything, update := metav1.ListOptions{}, metav1.UpdateOptions{}
	if list, err := c.client.AppsV1().Deployments("").List(ctx, everything); err == nil {
		for _, o := range list.Items {
			n := *o.Spec.Replicas
			if o.Status.ObservedGeneration != o.Generation {
				o.Status = appsv1.DeploymentStatus{ObservedGeneration: o.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
				_, _ = c.client.AppsV1().Deployments(o.Namespace).UpdateStatus(ctx, &o, update)
			}
		}
	}
	if list, err := c.client.AppsV1().StatefulSets("").List(ctx, everything); err == nil {
		for _, o := range list.Items {
			if n := *o.Spec.Replicas; o.Status.ObservedGeneration != o.Generation {
				o.Status = appsv1.StatefulSetStatus{ObservedGeneration: o.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
				_, _ = c.client.AppsV1().StatefulSets(o.Namespace).UpdateStatus(ctx, &o, update)
			}
		}
	}
	if list, err := c.client.AppsV1().DaemonSets("").List(ctx, everything); err == nil {
		for _, o := range list.Items {
			if o.Status.ObservedGeneration != o.Generation {
				o.Status = appsv1.DaemonSetStatus{ObservedGeneration: o.Generation, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberReady: 3, NumberAvailable: 3}
				_, _ = c.client.AppsV1().DaemonSets(o.Namespace).UpdateStatus(ctx, &o, update)
			}
		}
	}
	if list, err := c.client.BatchV1().Jobs("").List(ctx, everything); err == nil {
		for _, o := range list.Items {
			if o.Status.Succeeded > 0 || len(o.Status.Conditions) > 0 {
				continue
			}
			now := metav1.Now()
			o.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
			}}
			_, _ = c.client.BatchV1().Jobs(o.Namespace).UpdateStatus(ctx, &o, update)
		}
	}
}

// namespaces empties those that are being deleted, and removes them.
func (c controllers) namespaces(ctx context.Context) {
	list, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, n := range list.Items {
		if n.DeletionTimestamp == nil {
			continue
		}
		left, err := c.empty(ctx, n.Name)
		if err != nil || left > 0 {
			continue
		}
		n.Spec.Finalizers = nil
		_, _ = c.client.CoreV1().Namespaces().Finalize(ctx, &n, metav1.UpdateOptions{})
	}
}

func (c controllers) empty(ctx context.Context, namespace string) (left int, err error) {
	all, err := allObjects(ctx, c.client.Discovery(), c.dynamic)
	if err != nil {
		return 0, err
	}
	now := int64(0)
	for _, id := range all {
		if id.Namespace != namespace {
			continue
		}
		left++
		resource, err := c.resource(id)
		if err != nil {
			return left, err
		}
		err = c.dynamic.Resource(resource).Namespace(namespace).Delete(ctx, id.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if err != nil && !apierrors.IsNotFound(err) {
			return left, err
		}
	}
	return left, nil
}

func (c controllers) resource(id deploy.ID) (schema.GroupVersionResource, error) {
	lists, err := c.client.Discovery().ServerPreferredResources()
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || group.Group != id.Group {
			continue
		}
		for _, r := range list.APIResources {
			if r.Name == id.Resource {
				return group.WithResource(r.Name), nil
			}
		}
	}
	return schema.GroupVersionResource{}, apierrors.NewNotFound(schema.GroupResource{Group: id.Group, Resource: id.Resource}, id.Name)
}
