package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// slotSize is what a slot holds and each pod requests.
func slotSize() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
}

// named is the metadata of an object here.
func named(format string, args ...any) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: fmt.Sprintf(format, args...), Namespace: namespace}
}

// poll calls check until it is done.
func poll(ctx context.Context, check wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, check)
}

// bindPlaceholders makes the test bed, and returns how long it takes until all placeholder pods are bound.
func (c *cluster) bindPlaceholders(ctx context.Context) (seconds float64, err error) {
	bed := &v1alpha1.Testbed{
		ObjectMeta: named(bedName),
		Spec:       v1alpha1.TestbedSpec{NodeLabel: nodeLabel, SlotsPerNode: intstr.FromInt(c.slots), ResourcesPerSlot: slotSize()},
	}
	begin := time.Now()
	// A kind that was just made is not served at once.
	if err := poll(ctx, func(ctx context.Context) (bool, error) {
		err := c.client.Create(ctx, bed)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return false, nil
		}
		return true, err
	}); err != nil {
		return 0, err
	}
	err = c.until(ctx, "the placeholder pods are bound", func() bool { return c.bound == c.nodes*c.slots })
	return time.Since(begin).Seconds(), err
}

func plainPod(i int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named("pod-%d", i), Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: slotSize()},
	}}}}
}

// submit makes pods as fast as it can, and returns how many a second were bound, from the first
// one's creation to the last one's binding: of that the time to make them is a part.
func (c *cluster) submit(ctx context.Context, pod func(i int) *corev1.Pod) (rate float64, err error) {
	if err := ready(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := inParallel(ctx, c.pods, func(i int) error { return c.client.Create(ctx, pod(i)) }); err != nil {
		return 0, err
	}
	made, n := time.Since(begin), 0
	err = c.until(ctx, "the pods are bound", func() bool {
		for n < c.pods && c.placed[plainPod(n).Name] {
			n++
		}
		return n == c.pods
	})
	rate = float64(c.pods) / time.Since(begin).Seconds()
	fmt.Fprintf(c.progress, "%d pods, made within %.1f s: %.0f a second\n", c.pods, made.Seconds(), rate)
	return rate, err
}

// makeJobs makes the jobs, and returns when spazio-testbed has seen all: what a scheduling meets are
// jobs that are there, not such as come with it.
func (c *cluster) makeJobs(ctx context.Context) (uids []types.UID, err error) {
	fmt.Fprintf(c.progress, "making %d jobs\n", c.jobs)
	uids = make([]types.UID, c.jobs)
	if err := inParallel(ctx, c.jobs, func(i int) error {
		job := &v1alpha1.BatchJob{ObjectMeta: named("job-%d", i), Spec: v1alpha1.BatchJobSpec{JobSpec: &runtime.RawExtension{
			Raw: []byte(`{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"none"}]}}}`),
		}}}
		err := c.client.Create(ctx, job)
		uids[i] = job.UID
		return err
	}); err != nil {
		return nil, err
	}
	return uids, poll(ctx, func(ctx context.Context) (bool, error) {
		var jobs v1alpha1.BatchJobList
		err := c.client.List(ctx, &jobs, client.InNamespace(namespace))
		return !slices.ContainsFunc(jobs.Items, func(j v1alpha1.BatchJob) bool { return j.Status.State == "" }), err
	})
}

// compete makes schedulings at once, of other jobs in each round, and removes them. It returns how
// soon the jobs of each had what runs them; that is written after their claims.
func (c *cluster) compete(ctx context.Context, round int, uids []types.UID) (seconds []float64, err error) {
	if err := ready(ctx); err != nil {
		return nil, err
	}
	begins, mine := make([]time.Time, c.competing), make([][]types.UID, c.competing)
	if err := inParallel(ctx, c.competing, func(k int) error {
		s := &v1alpha1.Scheduling{
			ObjectMeta: named("round-%d-%d", round, k), Spec: v1alpha1.SchedulingSpec{Testbed: v1alpha1.TestbedReference{Name: bedName}},
		}
		for n := range c.perRound {
			i := (round*c.perRound*c.competing + k*c.perRound + n) % len(uids)
			s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: fmt.Sprintf("job-%d", i)})
			mine[k] = append(mine[k], uids[i])
		}
		begins[k] = time.Now()
		return c.client.Create(ctx, s)
	}); err != nil {
		return nil, err
	}
	for k, begin := range begins {
		var last time.Time
		if err := c.until(ctx, "the jobs have what runs them", func() bool {
			for _, uid := range mine[k] {
				if c.made[uid].IsZero() {
					return false
				}
				if c.made[uid].After(last) {
					last = c.made[uid]
				}
			}
			return true
		}); err != nil {
			return nil, err
		}
		seconds = append(seconds, last.Sub(begin).Seconds())
	}
	if err := c.removeAll(ctx, &v1alpha1.Scheduling{}, &v1alpha1.SchedulingList{}); err != nil {
		return nil, err
	}
	return seconds, c.until(ctx, "nothing runs jobs", func() bool { return len(c.made) == 0 })
}

// removeAll deletes all objects of a kind, and returns when they are gone.
func (c *cluster) removeAll(ctx context.Context, kind client.Object, list client.ObjectList) error {
	if err := c.client.DeleteAllOf(ctx, kind, client.InNamespace(namespace)); err != nil {
		return err
	}
	return poll(ctx, func(ctx context.Context) (bool, error) {
		err := c.client.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		return meta.LenList(list) == 0, err
	})
}

// intoSlots has pods take the places of placeholder pods, and returns how many a second do.
func (c *cluster) intoSlots(ctx context.Context) (rate float64, err error) {
	var bed v1alpha1.Testbed
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: bedName}, &bed); err != nil {
		return 0, err
	}
	job := &v1alpha1.BatchJob{ObjectMeta: named("swaps"), Spec: v1alpha1.BatchJobSpec{JobSpec: &runtime.RawExtension{Raw: []byte(`{}`)}}}
	if err := c.client.Create(ctx, job); err != nil {
		return 0, err
	}
	job.Status = v1alpha1.BatchJobStatus{State: v1alpha1.BatchJobSubmitted, CreationRequest: &v1alpha1.CreationRequest{
		Testbed:   v1alpha1.ObjectReference{Namespace: namespace, Name: bedName, UID: bed.UID},
		Resources: slotSize(), Replication: int32(c.pods), Attempt: 1,
	}}
	for i := range c.pods {
		id := slot.ID{Node: fmt.Sprintf("node-%04d", i%c.nodes), Position: i / c.nodes}
		job.Status.CreationRequest.Slots = append(job.Status.CreationRequest.Slots, id.String())
	}
	if err := c.client.Status().Update(ctx, job); err != nil {
		return 0, err
	}
	return c.submit(ctx, func(i int) *corev1.Pod {
		pod := plainPod(i)
		pod.Labels = map[string]string{
			v1alpha1.LabelRole: v1alpha1.RoleSlot, v1alpha1.LabelTestbedUID: string(bed.UID),
			v1alpha1.LabelBatchJobUID: string(job.UID), v1alpha1.LabelAttempt: "1",
		}
		pod.Annotations = map[string]string{v1alpha1.AnnotationOptOut: "true"}
		pod.Spec.SchedulerName, pod.Spec.PriorityClassName = v1alpha1.SchedulerName, v1alpha1.PriorityClassSlot
		return pod
	})
}

// clear removes pods, jobs and the test bed while spazio-testbed does not run.
func (c *cluster) clear(ctx context.Context) error {
	for _, kind := range []struct {
		one client.Object
		all client.ObjectList
	}{{&v1alpha1.BatchJob{}, &v1alpha1.BatchJobList{}}, {&v1alpha1.Testbed{}, &v1alpha1.TestbedList{}}} {
		if err := c.client.List(ctx, kind.all, client.InNamespace(namespace)); err != nil {
			return err
		}
		if err := meta.EachListItem(kind.all, func(o runtime.Object) error {
			return c.client.Patch(ctx, o.(client.Object), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		}); err != nil {
			return err
		}
		if err := c.removeAll(ctx, kind.one, kind.all); err != nil {
			return err
		}
	}
	if err := simnode.RemovePods(ctx, c.clientset, namespace); err != nil {
		return err
	}
	return c.until(ctx, "the pods are gone", func() bool { return len(c.placed) == 0 })
}
