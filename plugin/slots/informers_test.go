//go:build !kubernetes1.35 && !kubernetes1.36

package slots_test

import (
	v1 "k8s.io/api/core/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// podInformer is the type that client-go's factory returns; older versions have no typed informer.
type podInformer = corev1informers.TypedPodInformer

func (i informer) TypedInformer() corev1informers.PodIndexInformer {
	return cache.NewTypedSharedIndexInformer[*v1.Pod](i)
}
