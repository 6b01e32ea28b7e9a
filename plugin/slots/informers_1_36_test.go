//go:build kubernetes1.35 || kubernetes1.36

package slots_test

import corev1informers "k8s.io/client-go/informers/core/v1"

// podInformer is the type that client-go's factory returns.
type podInformer = corev1informers.PodInformer
