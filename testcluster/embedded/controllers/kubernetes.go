//go:build !kubernetes1.35

package controllers

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/job"
)

// newJobs is the controller of Jobs, which makes groups of pods, too.
func newJobs(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) (*job.Controller, error) {
	scheduling := shared.Scheduling().V1alpha2()
	return job.NewController(ctx, client, shared.Core().V1().Pods(), shared.Batch().V1().Jobs(), scheduling.Workloads(), scheduling.PodGroups())
}
