package batch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Log is what the API server says of all pods of Namespace, whoever made them: a
// second opinion on a scheduler beside what the nodes say. It is safe for
// concurrent use.
type Log struct {
	stop func()

	mu    sync.Mutex
	bound Bindings
	ended map[types.UID]corev1.PodPhase
	moved []string
}

// Watch follows the pods until Close. It returns once it has heard of those that
// there are; ctx bounds that alone.
func Watch(ctx context.Context, client kubernetes.Interface) (*Log, error) {
	l := &Log{bound: Bindings{}, ended: map[types.UID]corev1.PodPhase{}}
	informer := coreinformers.NewPodInformer(client, Namespace, 0, cache.Indexers{})
	heard, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    l.observe,
		UpdateFunc: func(_, pod any) { l.observe(pod) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch the pods: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { informer.RunWithContext(running) })
	l.stop = func() { cancel(); watching.Wait() }
	if !cache.WaitForCacheSync(ctx.Done(), heard.HasSynced) {
		l.stop()
		return nil, fmt.Errorf("watch the pods: %w", context.Cause(ctx))
	}
	return l, nil
}

// Close ends the watch; it may be called again. What the Log has, it keeps.
func (l *Log) Close() { l.stop() }

func (l *Log) observe(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.bound[pod.UID]; !ok {
		l.bound[pod.UID] = binding{pod.Name, pod.Spec.NodeName, time.Now()}
	} else if known.Node != pod.Spec.NodeName {
		l.moved = append(l.moved, fmt.Sprintf("%s, to %s and %s", pod.Name, known.Node, pod.Spec.NodeName))
	}
	if phase := pod.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		l.ended[pod.UID] = phase
	}
}

// Moved names the pods that were bound to two nodes, which no scheduler may do.
func (l *Log) Moved() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.moved)
}

// Counts returns the pods that were ever bound and those that succeeded.
func (l *Log) Counts() (bound, succeeded int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, phase := range l.ended {
		if phase == corev1.PodSucceeded {
			succeeded++
		}
	}
	return len(l.bound), succeeded
}

// Bindings returns all bindings so far.
func (l *Log) Bindings() Bindings {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.bound)
}
