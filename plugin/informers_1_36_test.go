//go:build kubernetes1.35 || kubernetes1.36

package plugin_test

import (
	corev1 "k8s.io/client-go/informers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// The types that client-go's factories return.
type (
	podInformer  = corev1.PodInformer
	nodeInformer = corev1.NodeInformer
)

// queueEntry is what a queue sort plugin compares.
type queueEntry = fwk.QueuedPodInfo

// queuesGroups reports whether the queue has groups of pods.
const queuesGroups = false
