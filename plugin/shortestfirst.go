package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/internal/lives"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
)

// ShortestFirst is the name of a queue sort plugin in a KubeSchedulerConfiguration. It tries the
// pods of the highest priority first and, of these, those of workloads whose pods live for less. All
// profiles of a scheduler share one queue, so all of them have to enable the same queue sort plugin.
const ShortestFirst = "ShortestFirst"

var errNoArgs = errors.New("it takes no arguments")

// NewShortestFirst makes the plugin ShortestFirst of one profile; it is a PluginFactory. The first
// call begins to follow the pods' ends, through the handle's informers. The pods that nodes have
// anyway do not count.
func (h *Hub) NewShortestFirst(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if args != nil {
		return nil, fmt.Errorf("plugin: %s: %w", ShortestFirst, errNoArgs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p, err := h.lives.Plugin(lives.Config{
		Name: ShortestFirst, Workload: h.workloads.identify, Now: h.clock,
		Counts: func(pod *v1.Pod) bool { return !podstate.IsNodeOwned(pod) && !h.Placeholder(pod.UID) },
	}, handle.SharedInformerFactory().Core().V1().Pods())
	if err != nil {
		return nil, fmt.Errorf("plugin: %s: follow pods: %w", ShortestFirst, err)
	}
	return p, nil
}

// order returns what pods of the same priority are ordered by: their arrival. With ShortestFirst it
// is when they were created, which the API has in whole seconds: arrival breaks the ties.
func (w *waiting) order(p *waitingPod) int64 {
	if w.lives.IsOn() {
		return p.pod.CreationTimestamp.UnixNano() + p.arrival
	}
	return p.arrival
}

// delay returns how much later than they were created the pods of a workload count as created.
func (w *waiting) delay(workload int) time.Duration { return w.lives.Delay(w.names[workload]) }
