package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// floors has this program write what the jobs of competing schedulings cannot do without, and
// knows it all beforehand: the schedulings, their claims, and then for each job that it has slots
// and what runs it. What that takes is the API server's part of acquire, on this machine; nobody
// follows test beds meanwhile.
func (c *cluster) floors(ctx context.Context, r *result) error {
	bed := &v1alpha1.Testbed{}
	object, err := c.resource(v1alpha1.Testbeds).Get(ctx, testbedName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, bed); err != nil {
		return err
	}
	var seconds []float64
	for round := range c.o.rounds {
		found, err := c.floor(ctx, round, bed)
		if err != nil {
			return err
		}
		seconds = append(seconds, found...)
	}
	r.add(
		row{What: "the writes that this cannot do without, alone, median", Unit: "s", Value: median(seconds), Told: true, Of: slices.Sorted(slices.Values(seconds))},
		row{What: "the same, 99 %", Unit: "s", Value: quantile(seconds, .99), Told: true},
	)
	return nil
}

// floor is a round of floors, and leaves the test bed as it was.
func (c *cluster) floor(ctx context.Context, round int, bed *v1alpha1.Testbed) (seconds []float64, err error) {
	count := c.o.competing * c.o.perRound
	jobs := make([]*v1alpha1.BatchJob, count)
	if err := inParallel(ctx, count, func(i int) error {
		jobs[i] = plainJob(fmt.Sprintf("floor-%d-%d", round, i))
		return c.apply(ctx, v1alpha1.BatchJobs, "BatchJob", jobs[i])
	}); err != nil {
		return nil, err
	}
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	used, begins := c.use(), make([]time.Time, c.o.competing)
	if err := inParallel(ctx, c.o.competing, func(k int) error {
		begins[k] = time.Now()
		return c.apply(ctx, v1alpha1.Schedulings, "Scheduling", &v1alpha1.Scheduling{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("floor-%d-%d", round, k), Namespace: namespace},
			Spec:       v1alpha1.SchedulingSpec{Testbed: testbedReference, QueueBased: []v1alpha1.JobReference{{Name: jobs[k].Name}}},
		})
	}); err != nil {
		return nil, err
	}
	if err := c.claim(ctx, bed, jobs); err != nil {
		return nil, err
	}
	if err := inParallel(ctx, count, func(i int) error { return c.give(ctx, bed, jobs[i], i) }); err != nil {
		return nil, err
	}
	if seconds, err = c.since(ctx, begins, func(k int) (uids []types.UID) {
		for _, job := range jobs[k*c.o.perRound : (k+1)*c.o.perRound] {
			uids = append(uids, job.UID)
		}
		return uids
	}); err != nil {
		return nil, err
	}
	fmt.Fprintf(c.progress, "round %d of %d: the writes alone within %.3g s: %v\n", round+1, c.o.rounds, slices.Max(seconds), used)
	return seconds, c.takeBack(ctx, bed)
}

// claim writes the claims of jobs, a slot each; of bed only the version changes.
func (c *cluster) claim(ctx context.Context, bed *v1alpha1.Testbed, jobs []*v1alpha1.BatchJob) error {
	claimed := bed.DeepCopy()
	for i, job := range jobs {
		claimed.Status.Claims = append(claimed.Status.Claims, v1alpha1.Claim{
			BatchJobUID: job.UID, BatchJob: namespace + "/" + job.Name, Scheduling: namespace + "/floor", SchedulingUID: job.UID,
			Slots: []string{c.slot(i)}, Since: metav1.Now(),
		})
	}
	err := c.writeStatus(ctx, v1alpha1.Testbeds, "Testbed", claimed)
	bed.ResourceVersion = claimed.ResourceVersion
	return err
}

// give writes that a job has its slot, and creates what runs it.
func (c *cluster) give(ctx context.Context, bed *v1alpha1.Testbed, job *v1alpha1.BatchJob, i int) error {
	job.Status = v1alpha1.BatchJobStatus{
		State: v1alpha1.BatchJobSubmitted,
		CreationRequest: &v1alpha1.CreationRequest{
			Testbed: v1alpha1.ObjectReference{Namespace: namespace, Name: testbedName, UID: bed.UID}, Slots: []string{c.slot(i)},
			Resources: slotSize(), Replication: 1, Attempt: 1,
		},
	}
	if err := c.writeStatus(ctx, v1alpha1.BatchJobs, "BatchJob", job); err != nil {
		return err
	}
	child := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: namespace, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchJob", Name: job.Name, UID: job.UID, Controller: new(true),
		}}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: plainPod("").Spec}},
	}
	child.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := c.client.BatchV1().Jobs(namespace).Create(ctx, child, metav1.CreateOptions{})
	return err
}

// takeBack removes what a round has made.
func (c *cluster) takeBack(ctx context.Context, bed *v1alpha1.Testbed) error {
	if err := c.writeStatus(ctx, v1alpha1.Testbeds, "Testbed", bed); err != nil {
		return err
	}
	background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	if err := c.client.BatchV1().Jobs(namespace).DeleteCollection(ctx, background, metav1.ListOptions{}); err != nil {
		return err
	}
	for _, kind := range []string{v1alpha1.Schedulings, v1alpha1.BatchJobs} {
		if err := c.removeAll(ctx, kind); err != nil {
			return err
		}
	}
	return c.lives.until(ctx, "nothing runs jobs", func() bool { return len(c.lives.made) == 0 })
}

// slot is the i-th, over all nodes first.
func (c *cluster) slot(i int) string {
	return slot.ID{Node: fmt.Sprintf("node-%04d", i%c.o.nodes), Position: i / c.o.nodes}.String()
}
