package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/reserve"
)

// EventsToRegister names the events of the API that may help a pod the plugin
// refused. A rising signal is none of them; the Hub wakes pods then. Nor is the
// deletion of a pod: the Hub's informer handler counts what it frees and wakes as
// many pods as that, where a hint would queue every waiting pod for each.
func (p *spazio) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	nodeUpdates := fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | nodeUpdates}, QueueingHintFn: p.nodeChanged},
	}, nil
}

// nodeChanged queues a pod where a node that has room now may have become fit
// for it: a rise that came while the node was tainted was tried in vain.
func (p *spazio) nodeChanged(_ klog.Logger, pod *v1.Pod, _, after any) (fwk.QueueingHint, error) {
	node, ok := after.(*v1.Node)
	if !ok {
		return fwk.Queue, nil
	}
	h := p.hub
	n := h.nodes.get(node.Name)
	if n == nil || h.rules.decide(n.view.Load(), h.asks(h.knowledge(pod)), h.moment()) == reserve.Admitted {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}
