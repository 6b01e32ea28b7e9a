package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
)

// ErrUnknownNode is the error of ExplainNode for a node that the scheduler does not know.
var ErrUnknownNode = errors.New("no such node")

// NodeExplanation is why a node has the room that it has, and what is on it. A plain
// value.
type NodeExplanation struct {
	NodeState
	// Pods are those that are bound to the node and have not ended, in order of their
	// creation, whoever scheduled them.
	Pods []NodePod `json:"pods,omitempty"`
}

// NodePod is a pod on a node.
type NodePod struct {
	// Pod is namespace/name.
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// Profile is the pod's scheduler, State one of the constants PodInFlight to PodExempt.
	Profile string    `json:"profile"`
	State   string    `json:"state"`
	Created time.Time `json:"created"`
	// Phase is the API's.
	Phase v1.PodPhase `json:"phase"`
	// Source is where what is known of it comes from, as in WorkloadState; empty if profiles are off.
	Source string `json:"source,omitempty"`
}

// ExplainNode returns what the plugin knows of a node, in a time that grows with the pods of
// the cluster: it is for people. Errors are ErrUnknownNode and ErrNotStarted, wrapped.
func (h *Hub) ExplainNode(name string) (NodeExplanation, error) {
	if h.Addr() == nil {
		return NodeExplanation{}, fmt.Errorf("plugin: %w", ErrNotStarted)
	}
	state, known := h.Node(name)
	if !known {
		return NodeExplanation{}, fmt.Errorf("plugin: node %q: %w", name, ErrUnknownNode)
	}
	e := NodeExplanation{NodeState: state}
	for _, pod := range h.Pods() {
		if pod.Spec.NodeName != name || podstate.IsTerminal(pod) {
			continue
		}
		state, _ := h.podState(pod, h.profileOf(pod))
		p := NodePod{
			Pod: pod.Namespace + "/" + pod.Name, UID: pod.UID, Profile: pod.Spec.SchedulerName, State: state,
			Created: pod.CreationTimestamp.Time, Phase: pod.Status.Phase,
		}
		if !h.profiling.off() {
			p.Source = h.knowledge(pod).source
		}
		e.Pods = append(e.Pods, p)
	}
	slices.SortFunc(e.Pods, func(a, b NodePod) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Pod, b.Pod))
	})
	return e, nil
}
