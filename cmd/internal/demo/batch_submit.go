package demo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// workloadAnnotation names the workload of a pod for the profiler and the scheduler, as
// profile.WorkloadAnnotation does.
const workloadAnnotation = "spazio-scheduler.github.io/workload"

// pod requests nothing; what it will do is known to its node alone.
func (r *batchRun) pod(name string, t batchTask) *corev1.Pod {
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
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
			Containers:                   []corev1.Container{{Name: "burn", Image: "spazio.invalid/burn"}},
		},
	}
	if t.Cores > 0 {
		pod.Annotations[simnode.AnnotationCores] = strconv.FormatFloat(t.Cores, 'f', -1, 64)
	}
	if t.Owner != "" {
		pod.Annotations[workloadAnnotation] = "Job/" + t.Owner
	}
	return pod
}

// submitters is how many requests are made at a time: enough to keep the API server busy
// while one waits.
const submitters = 8

// gate keeps pods from being scheduled before the last is there.
const gate = "spazio-scheduler.github.io/batch"

// submit creates the pods and then releases them, so that how fast the API server takes them is not part
// of the run. It returns when all are released, or with an error when one could not be or ctx ended. If
// pods have owners, it creates those anew that are killed, after the time that the controller of Jobs waits, and
// returns when all are done. It is called once.
func (r *batchRun) submit(ctx context.Context, client kubernetes.Interface, clock simnode.Clock) error {
	plan := r.snapshot()
	err := r.create(ctx, client, clock, plan)
	if err != nil || !slices.ContainsFunc(plan, func(p podRecord) bool { return p.Owner != "" }) {
		return err
	}
	return r.replace(ctx, client, clock)
}

// replace creates killed pods anew until all are done.
func (r *batchRun) replace(ctx context.Context, client kubernetes.Interface, clock simnode.Clock) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for {
		select {
		case <-r.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case i := <-r.killed:
			pod, wait := r.again(i)
			due := clock.Now().Add(wait)
			running.Go(func() {
				if !sleepUntil(ctx, clock, due) {
					return
				}
				if _, err := client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					cancel(fmt.Errorf("submit pod %s: %w", pod.Name, err))
				}
			})
		}
	}
}

func (r *batchRun) create(ctx context.Context, client kubernetes.Interface, clock simnode.Clock, plan []podRecord) error {
	pods := client.CoreV1().Pods(namespace)
	err := each(ctx, plan, func(ctx context.Context, i int) error {
		pod := r.pod(plan[i].Name, plan[i].batchTask)
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	start := clock.Now()
	for i := range plan {
		r.created(i, start)
	}
	err = each(ctx, plan, func(ctx context.Context, i int) error {
		_, err := pods.Patch(ctx, plan[i].Name, types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
		return err
	})
	r.delayed(clock.Now().Sub(start))
	return err
}

// each does something for every pod in order, several at a time, until one fails.
func each(ctx context.Context, plan []podRecord, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var running sync.WaitGroup
	for range submitters {
		running.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(fmt.Errorf("submit pod %s: %w", plan[i].Name, err))
				}
			}
		})
	}
	for i := range plan {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
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
