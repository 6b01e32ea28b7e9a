package slots

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister names the events of the API that may help a pod the plugin refused.
// A change of its BatchJob is not among them: the Factory activates pods then.
func (p *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	nodeChanges := fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint | fwk.UpdateNodeLabel
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete | fwk.UpdatePodScaleDown}, QueueingHintFn: p.podChanged},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: nodeChanges}, QueueingHintFn: p.nodeChanged},
	}, nil
}

// podChanged queues a pod where one on a node of its slots has ended or become smaller.
func (p *plugin) podChanged(_ klog.Logger, pod *v1.Pod, before, after any) (fwk.QueueingHint, error) {
	changed, ok := after.(*v1.Pod)
	if !ok || changed == nil {
		if changed, ok = before.(*v1.Pod); !ok {
			return fwk.Queue, nil
		}
	}
	return p.onNode(pod, changed.Spec.NodeName), nil
}

// nodeChanged queues a pod where a node of its slots has come or changed.
func (p *plugin) nodeChanged(_ klog.Logger, pod *v1.Pod, _, after any) (fwk.QueueingHint, error) {
	node, ok := after.(*v1.Node)
	if !ok {
		return fwk.Queue, nil
	}
	return p.onNode(pod, node.Name), nil
}

// onNode queues a pod if one of its slots is on the node.
func (p *plugin) onNode(pod *v1.Pod, node string) fwk.QueueingHint {
	if node != "" && slices.ContainsFunc(p.placesOf(pod), func(at place) bool { return at.slot.Node == node }) {
		return fwk.Queue
	}
	return fwk.QueueSkip
}

// placesOf are the slots that a pod may have, taken or not.
func (p *plugin) placesOf(pod *v1.Pod) []place {
	if isPlaceholder(pod) {
		if at, ok := placeOf(pod); ok {
			return []place{at}
		}
		return nil
	}
	if j := p.jobs.of(pod); j != nil {
		return j.places
	}
	return nil
}

// SignPod refuses: of two pods that are alike each gets a slot of its own.
func (*plugin) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable, "each pod has a slot of its own")
}
