//go:build !kubernetes1.35 && !kubernetes1.36

package plugin_test

import (
	v1 "k8s.io/api/core/v1"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// The types that client-go's factories return; older versions have no typed informer.
type (
	podInformer  = corev1.TypedPodInformer
	nodeInformer = corev1.TypedNodeInformer
)

// queueEntry is what a queue sort plugin compares.
type queueEntry = fwk.QueuedEntityInfo

// queuesGroups reports whether the queue has groups of pods.
const queuesGroups = true

func (p podFeed) TypedInformer() corev1.PodIndexInformer {
	return cache.NewTypedSharedIndexInformer[*v1.Pod](p.Informer())
}

func (n nodeFeed) TypedInformer() corev1.NodeIndexInformer {
	return cache.NewTypedSharedIndexInformer[*v1.Node](n.Informer())
}
