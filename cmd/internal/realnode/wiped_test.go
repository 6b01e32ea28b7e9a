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

// TestOwnersAreWiped makes one of each kind that makes pods and has the node's end take them away: an
// owner that it forgets makes new pods as long as it waits for them to be gone. What others run on
// goes, too, so this is the last test: the order is that of the files.
func TestOwnersAreWiped(t *testing.T) {
	const namespace = "default"
	labels := map[string]string{"left": "yes"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: worker("", defaults, "-sleep=1h").Spec}
	stays := *template.DeepCopy()
	stays.Spec.RestartPolicy = corev1.RestartPolicyAlways
	selector := &metav1.LabelSelector{MatchLabels: labels}
	const owner = "left"
	named := func() metav1.ObjectMeta { return metav1.ObjectMeta{Name: owner} }
	apps, batch := node.client.AppsV1(), node.client.BatchV1()
	for kind, create := range map[string]func() error{
		"StatefulSet": func() error {
			_, err := apps.StatefulSets(namespace).Create(t.Context(), &appsv1.StatefulSet{
				ObjectMeta: named(), Spec: appsv1.StatefulSetSpec{Selector: selector, Template: stays, ServiceName: "left"},
			}, metav1.CreateOptions{})
			return err
		},
		"Deployment": func() error {
			_, err := apps.Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
				ObjectMeta: named(), Spec: appsv1.DeploymentSpec{Selector: selector, Template: stays},
			}, metav1.CreateOptions{})
			return err
		},
		"DaemonSet": func() error {
			_, err := apps.DaemonSets(namespace).Create(t.Context(), &appsv1.DaemonSet{
				ObjectMeta: named(), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: stays},
			}, metav1.CreateOptions{})
			return err
		},
		"CronJob": func() error {
			_, err := batch.CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{
				ObjectMeta: named(), Spec: batchv1.CronJobSpec{
					Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
				},
			}, metav1.CreateOptions{})
			return err
		},
		"Job": func() error {
			_, err := batch.Jobs(namespace).Create(t.Context(), &batchv1.Job{
				ObjectMeta: named(), Spec: batchv1.JobSpec{Template: template},
			}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := create(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	const running = 4 // the cron job's may not have begun
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
	for kind, get := range map[string]func(context.Context, string) error{
		"StatefulSet": func(ctx context.Context, name string) error {
			_, err := apps.StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		},
		"Deployment": func(ctx context.Context, name string) error {
			_, err := apps.Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		},
		"DaemonSet": func(ctx context.Context, name string) error {
			_, err := apps.DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		},
		"CronJob": func(ctx context.Context, name string) error {
			_, err := batch.CronJobs(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		},
		"Job": func(ctx context.Context, name string) error {
			_, err := batch.Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		},
	} {
		if err := get(t.Context(), owner); !apierrors.IsNotFound(err) {
			t.Errorf("the %s is there: %v", kind, err)
		}
	}
}
