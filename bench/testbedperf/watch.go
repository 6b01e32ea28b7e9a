package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// lives are when objects were seen to come, to be bound, and to go. It is safe for
// concurrent use.
type lives struct {
	mu      sync.Mutex
	changed chan struct{}        // closed at the next change
	bound   map[string]time.Time // pods, by name
	gone    map[string]time.Time
	ghosts  map[string]string       // of a slot, by NODE/POSITION
	there   map[string]bool         // pods
	made    map[types.UID]time.Time // children, by their job's UID
}

// follow sees pods, and what runs jobs, until ctx ends.
func follow(ctx context.Context, client kubernetes.Interface) (*lives, error) {
	l := &lives{
		changed: make(chan struct{}), bound: map[string]time.Time{}, gone: map[string]time.Time{},
		ghosts: map[string]string{}, there: map[string]bool{}, made: map[types.UID]time.Time{},
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(metav1.NamespaceDefault))
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { l.pod(o, false) },
		UpdateFunc: func(_, o any) { l.pod(o, false) },
		DeleteFunc: func(o any) { l.pod(o, true) },
	}); err != nil {
		return nil, err
	}
	if _, err := factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { l.child(o, false) }, DeleteFunc: func(o any) { l.child(o, true) },
	}); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("watch %v: %w", kind, ctx.Err())
		}
	}
	return l, nil
}

func (l *lives) change(f func(now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(time.Now())
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lives) pod(object any, gone bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	l.change(func(now time.Time) {
		if pod.Labels[labelRole] == roleGhost {
			l.ghosts[pod.Annotations[annotationSlot]] = pod.Name
		}
		if _, known := l.bound[pod.Name]; !known && pod.Spec.NodeName != "" {
			l.bound[pod.Name] = now
		}
		l.there[pod.Name] = true
		if gone {
			l.gone[pod.Name] = now
			delete(l.there, pod.Name)
			delete(l.bound, pod.Name)
		}
	})
}

func (l *lives) child(object any, gone bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	o, ok := object.(metav1.Object)
	if !ok || metav1.GetControllerOf(o) == nil {
		return
	}
	l.change(func(now time.Time) {
		if l.made[metav1.GetControllerOf(o).UID] = now; gone {
			delete(l.made, metav1.GetControllerOf(o).UID)
		}
	})
}

// until returns when check, called with the lock held, says so.
func (l *lives) until(ctx context.Context, what string, check func() bool) error {
	for {
		l.mu.Lock()
		done, changed := check(), l.changed
		l.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		}
	}
}
