package demo

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/simnode"
)

const namespace = metav1.NamespaceDefault

// podObject is a pod that declares nothing to the scheduler; what it will do is
// known to its node alone.
func podObject(name, profile string, t Task) *corev1.Pod {
	no := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      name,
			Labels:    map[string]string{"app": "spazio-demo", "profile": profile},
			Annotations: map[string]string{
				simnode.AnnotationWork:    simnode.FormatSeconds(t.Work),
				simnode.AnnotationStartup: simnode.FormatSeconds(t.Startup),
				simnode.AnnotationMemory:  strconv.FormatInt(int64(t.Memory), 10),
			},
		},
		Spec: corev1.PodSpec{
			SchedulerName:                profile,
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: &no,
			Containers:                   []corev1.Container{{Name: "burn", Image: "spazio.invalid/burn"}},
		},
	}
}

// podNames are unique in a batch and sort in order of submission.
func podNames(profile string, n int) []string {
	names := make([]string, n)
	width := len(strconv.Itoa(n))
	for i := range names {
		names[i] = fmt.Sprintf("%s-%0*d", profile, width, i+1)
	}
	return names
}

// submitters is how many pods are created at a time: enough to keep the API
// server busy while one request waits.
const submitters = 8

// submit creates the pods of a batch when they are due.
func submit(ctx context.Context, client kubernetes.Interface, clock simnode.Clock, profile string, t *tracker) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := clock.Now()
	due := make(chan int)
	var running sync.WaitGroup
	for range submitters {
		running.Go(func() {
			for i := range due {
				record := t.created(i, clock.Now())
				pod := podObject(record.Name, profile, record.Task)
				if _, err := client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					cancel(fmt.Errorf("create pod %s: %w", record.Name, err))
				}
			}
		})
	}
	for i, r := range t.snapshot() {
		if !sleepUntil(ctx, clock, start.Add(r.Arrival)) {
			break
		}
		due <- i
	}
	close(due)
	running.Wait()
	return context.Cause(ctx)
}

// sleepUntil waits for a virtual time and returns false if ctx ended before.
func sleepUntil(ctx context.Context, clock simnode.Clock, at time.Time) bool {
	wait := clock.Wall(at.Sub(clock.Now()))
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
