//go:build realnode && linux

package realnode

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	workImage = "localhost/work:1"
	defaults  = "default-scheduler"
	spazio    = "spazio"
)

// lastWords is the final output of a container of the program work.
type lastWords struct {
	Began, Ended time.Time
	CPU          time.Duration
	Memory       int
}

// worker returns a pod without requests that runs the program work once.
func worker(name, scheduler string, arguments ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			SchedulerName:                 scheduler,
			RestartPolicy:                 corev1.RestartPolicyNever,
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{
				Name: "work", Image: workImage, ImagePullPolicy: corev1.PullNever, Args: arguments,
			}},
		},
	}
}

// words returns the output of a pod's first ended container.
func words(pod *corev1.Pod) (w lastWords, err error) {
	for _, status := range pod.Status.ContainerStatuses {
		if end := status.State.Terminated; end != nil {
			return w, json.Unmarshal([]byte(end.Message), &w)
		}
	}
	return w, fmt.Errorf("pod %s has no container that ended: %v", pod.Name, pod.Status)
}

// create creates a pod and removes it after the test.
func create(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if _, err := node.client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, pod) })
}

// remove deletes a pod and returns when it is gone.
func remove(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if err := node.await("pod "+pod.Name+" is gone", func(ctx context.Context) error {
		return node.gone(ctx, pod.Namespace, pod.Name)
	}); err != nil {
		t.Error(err)
	}
}

// get returns the pod from the API.
func get(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := node.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// eventually returns when the check succeeds.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	if err := node.await(what, check); err != nil {
		t.Fatal(err)
	}
}

// succeeds returns a pod when it has succeeded.
func succeeds(t *testing.T, name string) (pod *corev1.Pod) {
	t.Helper()
	eventually(t, name+" succeeds", func(context.Context) error {
		if pod = get(t, name); pod.Status.Phase == corev1.PodFailed {
			t.Fatalf("%s failed: %v", name, pod.Status)
		}
		if pod.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("%s is %v: %v", name, pod.Status.Phase, pod.Status.Conditions)
		}
		return nil
	})
	return pod
}
