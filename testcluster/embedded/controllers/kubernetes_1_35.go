//go:build kubernetes1.35

package controllers

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/job"
)

// newJobs is the controller of Jobs, which in Kubernetes 1.35 knows of no groups of pods.
func newJobs(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) (*job.Controller, error) {
	return job.NewController(ctx, shared.Core().V1().Pods(), shared.Batch().V1().Jobs(), client)
}
