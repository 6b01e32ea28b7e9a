package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// Cache is what the manager's cache must be like: it follows the pods that stand in
// slots alone, keeps of them and of nodes what is needed, and follows the namespaces,
// none being all.
func Cache(namespaces []string) cache.Options {
	// Neither the key nor the values can be refused.
	role, _ := labels.NewRequirement(v1alpha1.LabelRole, selection.In, []string{v1alpha1.RolePlaceholder, v1alpha1.RoleSlot})
	o := cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:  {Label: labels.NewSelector().Add(*role), Transform: stripPod},
			&corev1.Node{}: {Transform: stripNode},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	for _, namespace := range namespaces {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[namespace] = cache.Config{}
	}
	return o
}

// stripPod leaves of a placeholder where it is and what it holds: there may be thousands.
func stripPod(object any) (any, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	p.ManagedFields = nil
	if p.Labels[v1alpha1.LabelRole] == v1alpha1.RolePlaceholder {
		p.OwnerReferences = nil
		p.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName}
		p.Status = corev1.PodStatus{Phase: p.Status.Phase}
	}
	return p, nil
}

// stripNode leaves a node's name and labels.
func stripNode(object any) (any, error) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{TypeMeta: n.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, Labels: n.Labels,
	}}, nil
}

// Indexes of the manager's cache. Objects are named NAMESPACE/NAME.
const (
	// schedulingTestbed is the Testbed of a Scheduling.
	schedulingTestbed = "spec.testbed"
	// schedulingJob are the jobs that a Scheduling lists.
	schedulingJob = "spec.jobs"
	// podBatchJob is the UID of a pod's BatchJob.
	podBatchJob = "batchjob-uid"
	// podTestbed is the UID of the Testbed in whose slots a pod is.
	podTestbed = "testbed-uid"
	// testbedClaim are the UIDs of the jobs that have claims on a Testbed's slots.
	testbedClaim = "status.claims.batchJobUID"
	// jobUID is a BatchJob's own.
	jobUID = "metadata.uid"
	// jobScheduling is the UID of the Scheduling that has a BatchJob.
	jobScheduling = "status.activeScheduling.uid"
)

func addIndexes(ctx context.Context, x client.FieldIndexer) error {
	return errors.Join(
		x.IndexField(ctx, &v1alpha1.Scheduling{}, schedulingTestbed, indexTestbed),
		x.IndexField(ctx, &v1alpha1.Scheduling{}, schedulingJob, indexJobs),
		x.IndexField(ctx, &v1alpha1.Testbed{}, testbedClaim, indexClaims),
		x.IndexField(ctx, &v1alpha1.BatchJob{}, jobUID, indexUID),
		x.IndexField(ctx, &v1alpha1.BatchJob{}, jobScheduling, indexScheduling),
		x.IndexField(ctx, &corev1.Pod{}, podBatchJob, indexBatchJob),
		x.IndexField(ctx, &corev1.Pod{}, podTestbed, indexPodTestbed),
	)
}

// index makes an index function of one for a type.
func index[T client.Object](values func(T) []string) client.IndexerFunc {
	return func(object client.Object) []string {
		if o, ok := object.(T); ok {
			return values(o)
		}
		return nil
	}
}

var (
	indexUID     = index(func(o client.Object) []string { return []string{string(o.GetUID())} })
	indexTestbed = index(func(s *v1alpha1.Scheduling) []string { return []string{s.TestbedKey().String()} })
	indexJobs    = index(func(s *v1alpha1.Scheduling) []string {
		var jobs []string
		for _, name := range jobNames(s) {
			jobs = append(jobs, name.String())
		}
		return jobs
	})
	indexScheduling = index(func(job *v1alpha1.BatchJob) []string {
		if job.Status.ActiveScheduling == nil {
			return nil
		}
		return []string{string(job.Status.ActiveScheduling.UID)}
	})
	indexClaims = index(func(tb *v1alpha1.Testbed) []string {
		var jobs []string
		for i := range tb.Status.Claims {
			jobs = append(jobs, string(tb.Status.Claims[i].BatchJobUID))
		}
		return jobs
	})
	indexBatchJob   = index(func(p *corev1.Pod) []string { return labelOf(p, v1alpha1.LabelBatchJobUID) })
	indexPodTestbed = index(func(p *corev1.Pod) []string { return labelOf(p, v1alpha1.LabelTestbedUID) })
)

// labelOf is the value of a label, or none.
func labelOf(p *corev1.Pod, label string) []string {
	if p.Labels[label] == "" {
		return nil
	}
	return []string{p.Labels[label]}
}

// allowed reports whether Schedulings of the namespace may use an object of namespace own.
// By labels they may if the namespace is there and has them.
func allowed(ctx context.Context, r client.Reader, consent *v1alpha1.AllowedNamespaces, own, namespace string) (bool, error) {
	switch {
	case namespace == own || consent.From == v1alpha1.FromAll:
		// An object's own namespace may always use it: its owners could change the consent.
		return true, nil
	case consent.From != v1alpha1.FromSelector || consent.Selector == nil:
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(consent.Selector)
	if err != nil {
		return false, nil //nolint:nilerr // who can't be selected is not
	}
	var ns corev1.Namespace
	if err := r.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return selector.Matches(labels.Set(ns.Labels)), nil
}
