//go:build !kubernetes1.35

package controllers

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/job"
)

// newJobs is the controller of Jobs. It makes no Workloads and PodGroups of them: that is a feature
// that is off by default (WorkloadWithJob), and kube-controller-manager hands over no informers of
// those then, either.
func newJobs(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) (*job.Controller, error) {
	return job.NewController(ctx, client, shared.Core().V1().Pods(), shared.Batch().V1().Jobs(), nil, nil)
}
