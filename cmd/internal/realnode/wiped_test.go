//go:build realnode && linux

package realnode

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOwnersAreLeft leaves one of each kind that makes pods, running, for the node's end to take away:
// an owner that the end forgets makes new pods as long as it waits for them to be gone. It is in the
// way of other tests, and so the last: the order is that of the files.
func TestOwnersAreLeft(t *testing.T) {
	const namespace = "default"
	labels := map[string]string{"left": "yes"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: worker("", defaults, "-sleep=1h").Spec}
	stays := *template.DeepCopy()
	stays.Spec.RestartPolicy = corev1.RestartPolicyAlways
	selector := &metav1.LabelSelector{MatchLabels: labels}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	apps, batch := node.client.AppsV1(), node.client.BatchV1()
	for kind, create := range map[string]func() error{
		"StatefulSet": func() error {
			_, err := apps.StatefulSets(namespace).Create(t.Context(), &appsv1.StatefulSet{
				ObjectMeta: named("left-set"), Spec: appsv1.StatefulSetSpec{Selector: selector, Template: stays, ServiceName: "left"},
			}, metav1.CreateOptions{})
			return err
		},
		"Deployment": func() error {
			_, err := apps.Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
				ObjectMeta: named("left-deployment"), Spec: appsv1.DeploymentSpec{Selector: selector, Template: stays},
			}, metav1.CreateOptions{})
			return err
		},
		"DaemonSet": func() error {
			_, err := apps.DaemonSets(namespace).Create(t.Context(), &appsv1.DaemonSet{
				ObjectMeta: named("left-daemons"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: stays},
			}, metav1.CreateOptions{})
			return err
		},
		"CronJob": func() error {
			_, err := batch.CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{
				ObjectMeta: named("left-cron"), Spec: batchv1.CronJobSpec{
					Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
				},
			}, metav1.CreateOptions{})
			return err
		},
		"Job": func() error {
			_, err := batch.Jobs(namespace).Create(t.Context(), &batchv1.Job{
				ObjectMeta: named("left-job"), Spec: batchv1.JobSpec{Template: template},
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
}
