package batch

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/simnode"
)

// pod declares to the scheduler what it requests, if anything; what it will do is
// known to its node alone.
func (r *Run) pod(name string, t Task) *corev1.Pod {
	no := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace,
			Name:      name,
			Labels:    map[string]string{"app": "batch", "scheduler": r.scheduler},
			Annotations: map[string]string{
				simnode.AnnotationWork:    simnode.FormatSeconds(t.Work),
				simnode.AnnotationStartup: simnode.FormatSeconds(t.Startup),
				simnode.AnnotationMemory:  strconv.FormatInt(int64(t.Memory), 10),
			},
		},
		Spec: corev1.PodSpec{
			SchedulerName:                r.scheduler,
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: &no,
			Containers: []corev1.Container{{
				Name: "burn", Image: "spazio.invalid/burn", Resources: t.resources(),
			}},
		},
	}
}

// resources are what a pod requests.
func (t Task) resources() corev1.ResourceRequirements {
	if t.RequestCPU == 0 {
		return corev1.ResourceRequirements{}
	}
	milli := int64(math.Ceil(1000 * t.RequestCPU))
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)},
	}
}

// submitters is how many pods are created at a time: enough to keep the API
// server busy while one request waits.
const submitters = 8

// Submit creates the pods when they are due and returns when all are created,
// or with an error when one could not be or ctx ended. It is called once.
func (r *Run) Submit(ctx context.Context, client kubernetes.Interface, clock simnode.Clock) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := clock.Now()
	due := make(chan int)
	var running sync.WaitGroup
	for range submitters {
		running.Go(func() {
			for i := range due {
				record := r.created(i, clock.Now())
				pod := r.pod(record.Name, record.Task)
				if _, err := client.CoreV1().Pods(Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					cancel(fmt.Errorf("create pod %s: %w", record.Name, err))
				}
			}
		})
	}
	for i, p := range r.Records() {
		if !sleepUntil(ctx, clock, start.Add(p.Arrival)) {
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
