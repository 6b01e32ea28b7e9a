package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// testbedOf is the UID of the Testbed in whose slots the pod is, or is to be; empty if there is none.
func testbedOf(p *corev1.Pod) types.UID {
	if p == nil || !inSlots(p) || p.UID == "" {
		return ""
	}
	return types.UID(p.Labels[v1alpha1.LabelTestbedUID])
}

// podsOf lists the pods in the slots of a Testbed, jobs' pods that are not bound yet among them.
func (r *testbeds) podsOf(ctx context.Context, uid types.UID) ([]slot.Pod, error) {
	var list corev1.PodList
	if err := r.cached.List(ctx, &list, client.MatchingFields{podTestbed: string(uid)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	pods := make([]slot.Pod, 0, len(list.Items))
	for i := range list.Items {
		if testbedOf(&list.Items[i]) == uid {
			pods = append(pods, workload.SlotPod(&list.Items[i]))
		}
	}
	return pods, nil
}

// heldNode is the node that the pod makes its Testbed's: a placeholder's, and that of a job's
// live pod; empty if there is none.
func heldNode(p *slot.Pod) string {
	if p.Role == slot.Placeholder || p.Node != "" && !p.Terminal {
		return p.Slot.Node
	}
	return ""
}

// heldNodes are the nodes on which there are placeholders or live pods.
func heldNodes(pods []slot.Pod) []string {
	var nodes []string
	for i := range pods {
		if node := heldNode(&pods[i]); node != "" {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// usesOf is what a Testbed has on each node: placeholders, of its own namespace alone, each
// of which holds so many units, and jobs' pods.
func usesOf(pods []slot.Pod, namespace string, units float64) map[string]*nodeUse {
	uses := map[string]*nodeUse{}
	for i := range pods {
		p := &pods[i]
		if p.Terminal || p.Slot == (slot.ID{}) || p.Role == slot.Placeholder && p.Namespace != namespace {
			continue
		}
		use := useOf(uses, p.Slot.Node)
		switch {
		case p.Role == slot.Placeholder:
			use.there = use.there.With(p.Slot.Position)
			if p.Node == p.Slot.Node {
				use.held += units
			}
		case p.Node == p.Slot.Node:
			use.busy, use.pods = use.busy.With(p.Slot.Position), use.pods.With(p.Slot.Position)
		}
	}
	return uses
}

func useOf(uses map[string]*nodeUse, node string) *nodeUse {
	use := uses[node]
	if use == nil {
		use = &nodeUse{}
		uses[node] = use
	}
	return use
}
