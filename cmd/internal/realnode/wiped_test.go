//go:build realnode && linux

package realnode

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOwnersAreWiped creates an object of each kind that creates pods, and removes them as at the
// node's end: an owner that was missed would create new pods while the removal waits. The objects that
// other tests run on are removed, too, so this is the last test, by the order of the files.
func TestOwnersAreWiped(t *testing.T) {
	const namespace = "default"
	labels := map[string]string{"left": "yes"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: worker("", defaults, "-sleep=1h").Spec}
	stays := *template.DeepCopy()
	stays.Spec.RestartPolicy = corev1.RestartPolicyAlways
	selector := &metav1.LabelSelector{MatchLabels: labels}
	named := metav1.ObjectMeta{Name: "left"}
	apps, batch := node.client.AppsV1(), node.client.BatchV1()
	kinds := map[string]kept{
		"StatefulSet": keep(apps.StatefulSets(namespace), &appsv1.StatefulSet{
			ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: stays, ServiceName: "left"},
		}),
		"Deployment": keep(apps.Deployments(namespace), &appsv1.Deployment{
			ObjectMeta: named, Spec: appsv1.DeploymentSpec{Selector: selector, Template: stays},
		}),
		"DaemonSet": keep(apps.DaemonSets(namespace), &appsv1.DaemonSet{
			ObjectMeta: named, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: stays},
		}),
		"CronJob": keep(batch.CronJobs(namespace), &batchv1.CronJob{
			ObjectMeta: named, Spec: batchv1.CronJobSpec{
				Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
			},
		}),
		"Job": keep(batch.Jobs(namespace), &batchv1.Job{ObjectMeta: named, Spec: batchv1.JobSpec{Template: template}}),
	}
	for kind, k := range kinds {
		if err := k.create(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	const running = 4 // the cron job's may not have started
	eventually(t, "their pods run", func(ctx context.Context) error {
		pods, err := node.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "left=yes"})
		if err != nil {
			return err
		}
		n := 0
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		if n < running {
			return fmt.Errorf("%d of %d pods run", n, len(pods.Items))
		}
		return nil
	})
	if err := node.removeOwners(t.Context()); err != nil {
		t.Fatal(err)
	}
	for kind, k := range kinds {
		if err := k.get(t.Context(), named.Name); !apierrors.IsNotFound(err) {
			t.Errorf("the %s still exists: %v", kind, err)
		}
	}
}

// kept creates an object and checks whether one of that name exists.
type kept struct {
	create func(context.Context) error
	get    func(context.Context, string) error
}

func keep[T any](client interface {
	Create(context.Context, *T, metav1.CreateOptions) (*T, error)
	Get(context.Context, string, metav1.GetOptions) (*T, error)
}, object *T) kept {
	return kept{
		create: func(ctx context.Context) error {
			_, err := client.Create(ctx, object, metav1.CreateOptions{})
			return err
		},
		get: func(ctx context.Context, name string) error {
			_, err := client.Get(ctx, name, metav1.GetOptions{})
			return err
		},
	}
}
