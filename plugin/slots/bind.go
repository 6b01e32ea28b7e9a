package slots

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	// grace is how long a placeholder has to end with swap: Graceful, in seconds.
	grace = 1
	// graceMost bounds the wait for a placeholder's end, because its node's kubelet may be away.
	graceMost = 30 * time.Second
)

var errNoSlot = errors.New("SpazioSlots: the pod has no slot")

// Bind puts a pod into its slot in the place of the slot's placeholder, and a placeholder on its node. If
// Bind fails, the pod keeps its slot, because the placeholder may be gone.
func (p *plugin) Bind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	var annotations map[string]string
	if isTenant(pod) {
		at, placeholders, ok := p.table.swap(pod.UID)
		if !ok || at.slot.Node != node {
			return fwk.AsStatus(fmt.Errorf("%w on %s", errNoSlot, node))
		}
		for _, g := range placeholders {
			ended, err := p.end(ctx, g)
			if err != nil {
				return fwk.AsStatus(fmt.Errorf("delete the placeholder %s/%s of the slot %s: %w", g.namespace, g.name, at.slot, err))
			}
			p.table.emptied(pod.UID, ended, p.options.Now())
		}
		annotations = map[string]string{AnnotationSlot: at.slot.String()}
	}
	if err := p.bind(ctx, pod, node, annotations); err != nil {
		return fwk.AsStatus(err)
	}
	if held, ok := p.table.tenancy(pod.UID); ok && !held.emptied.IsZero() {
		p.metrics.swap.Observe(p.options.Now().Sub(held.emptied).Seconds())
	}
	return nil
}

// end deletes a placeholder, and reports whether it did. It is no error if the placeholder was already gone.
func (p *plugin) end(ctx context.Context, g placeholder) (ended bool, err error) {
	var seconds int64
	if p.graceful {
		seconds = grace
	}
	klog.FromContext(ctx).V(3).Info("Deleting the placeholder of a slot", "placeholder", klog.KRef(g.namespace, g.name))
	err = p.handle.ClientSet().CoreV1().Pods(g.namespace).Delete(ctx, g.name, metav1.DeleteOptions{
		GracePeriodSeconds: &seconds, Preconditions: &metav1.Preconditions{UID: &g.uid},
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // a conflict: another pod has its name
		return false, nil
	case err != nil || !p.graceful:
		return err == nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, graceMost)
	defer cancel()
	err = p.table.awaitGone(ctx, g.uid)
	return err == nil, err
}

// bind binds a pod as DefaultBinder does, with annotations.
func (p *plugin) bind(ctx context.Context, pod *v1.Pod, node string, annotations map[string]string) error {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Annotations: annotations},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
	cacher := p.handle.APICacher()
	if cacher == nil {
		return p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	}
	finished, err := cacher.BindPod(binding)
	if err != nil {
		return err
	}
	return cacher.WaitOnFinish(ctx, finished)
}
