package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/observe"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Indexes of the manager's cache. Objects are named NAMESPACE/NAME.
const (
	// schedulingTestbed is the Testbed of a Scheduling.
	schedulingTestbed = "spec.testbed"
	// schedulingJob are the jobs that a Scheduling lists.
	schedulingJob = "spec.jobs"
	// podBatchJob is the UID of a pod's BatchJob.
	podBatchJob = "batchjob-uid"
	// jobScheduling is the UID of the Scheduling that has a BatchJob.
	jobScheduling = "status.activeScheduling.uid"
)

func addIndexes(ctx context.Context, x client.FieldIndexer) error {
	return errors.Join(
		x.IndexField(ctx, &v1alpha1.Scheduling{}, schedulingTestbed, indexTestbed),
		x.IndexField(ctx, &v1alpha1.Scheduling{}, schedulingJob, indexJobs),
		x.IndexField(ctx, &v1alpha1.BatchJob{}, jobScheduling, indexScheduling),
		x.IndexField(ctx, &corev1.Pod{}, podBatchJob, indexBatchJob),
	)
}

func indexTestbed(object client.Object) []string {
	s, ok := object.(*v1alpha1.Scheduling)
	if !ok {
		return nil
	}
	return []string{observe.TestbedOf(s).String()}
}

func indexJobs(object client.Object) []string {
	s, ok := object.(*v1alpha1.Scheduling)
	if !ok {
		return nil
	}
	names := observe.Names(s)
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = name.String()
	}
	return texts
}

func indexScheduling(object client.Object) []string {
	job, ok := object.(*v1alpha1.BatchJob)
	if !ok || job.Status.ActiveScheduling == nil {
		return nil
	}
	return []string{string(job.Status.ActiveScheduling.UID)}
}

func indexBatchJob(object client.Object) []string {
	p, ok := object.(*corev1.Pod)
	if !ok || p.Labels[v1alpha1.LabelBatchJobUID] == "" {
		return nil
	}
	return []string{p.Labels[v1alpha1.LabelBatchJobUID]}
}
