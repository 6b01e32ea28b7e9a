package plugin

import (
	"context"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/plugin/internal/informer"
	"github.com/spazio-scheduler/spazio/plugin/internal/podstate"
	"github.com/spazio-scheduler/spazio/reserve"
)

// follow registers the Hub with the scheduler's informers, so that the ledger
// holds the pods of every profile and of other schedulers, and is rebuilt from
// the API after a restart. It returns what to wait for.
func (h *Hub) follow(ctx context.Context, factory informers.SharedInformerFactory) ([]cache.InformerSynced, error) {
	logger := klog.FromContext(ctx)
	lister := factory.Core().V1().Pods().Lister()
	h.pods = lister
	if h.rules.byDemand {
		if err := h.indexPods(factory); err != nil {
			return nil, err
		}
	}
	maxWait := h.rules.overdue.WithDefaults().MaxWait
	if h.rules.overdue.Off {
		maxWait = 0
	}
	h.waiting.configure(waitingConfig{
		isPending: func(pod *v1.Pod) bool {
			current, err := lister.Pods(pod.Namespace).Get(pod.Name)
			return err == nil && current.UID == pod.UID && current.Spec.NodeName == ""
		},
		moment: h.moment, start: h.start, retry: h.args.RetryPeriod.Duration, maxWait: maxWait, rules: &h.rules,
		lives: &h.lives,
	})
	pods, err := factory.Core().V1().Pods().Informer().AddEventHandler(informer.Handler(func(pod *v1.Pod) { h.podSeen(logger, pod) }, h.podDeleted))
	if err != nil {
		return nil, fmt.Errorf("follow pods: %w", err)
	}
	nodes, err := factory.Core().V1().Nodes().Informer().AddEventHandler(informer.Handler(h.nodeSeen, h.nodeGone))
	if err != nil {
		return nil, fmt.Errorf("follow nodes: %w", err)
	}
	return []cache.InformerSynced{pods.HasSynced, nodes.HasSynced}, nil
}

// indexPods makes the informer index pods by node.
func (h *Hub) indexPods(factory informers.SharedInformerFactory) error {
	pods := factory.Core().V1().Pods().Informer()
	err := pods.AddIndexers(cache.Indexers{byNode: func(obj any) ([]string, error) {
		if pod, ok := obj.(*v1.Pod); ok && pod.Spec.NodeName != "" {
			return []string{pod.Spec.NodeName}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	h.podIndex = pods.GetIndexer()
	return nil
}

// nodeSeen takes in a node as the API has it.
func (h *Hub) nodeSeen(object *v1.Node) {
	n := h.node(object.Name)
	n.mu.Lock()
	for n.removed {
		// The inventory has just found the node missing in the API.
		n.mu.Unlock()
		h.dropNode(n)
		n = h.node(object.Name)
		n.mu.Lock()
	}
	wasInAPI, cores := n.inAPI.Swap(true), coresOf(object)
	if n.cores.Swap(cores) != cores || !wasInAPI { // slow start's line has moved, or its slots count now
		h.refreshLocked(n)
	}
	n.mu.Unlock()
	if h.tainted.set(n, podstate.Taints(object)) {
		h.waiting.admit(n) // pods that a taint kept from it may go there now
	}
}

// coresOf returns the node's cores, or 0 if it states none.
func coresOf(object *v1.Node) int32 {
	return int32(min(object.Status.Capacity.Cpu().Value(), math.MaxInt32))
}

// podSeen updates the ledger with what the API shows of a pod.
func (h *Hub) podSeen(logger klog.Logger, pod *v1.Pod) {
	h.placeholders.change.Lock()
	defer h.placeholders.change.Unlock()
	h.podKnown(logger, pod)
}

// podKnown is podSeen for a caller that holds placeholders.change.
func (h *Hub) podKnown(logger klog.Logger, pod *v1.Pod) {
	switch {
	case podstate.IsMirror(pod):
		return
	case podstate.IsTerminal(pod):
		h.podGone(pod)
		h.histories.end(reserve.KeyOf(string(pod.UID)))
		return
	case pod.Spec.NodeName == "":
		h.podPending(pod)
		return
	}
	key := reserve.KeyOf(string(pod.UID))
	h.waiting.drop(pod.UID)
	if units, is := h.placeholders.units(key); is {
		if h.placeholderBound(logger, pod.Spec.NodeName, key, units) {
			h.sendPlaceholders(pod.Spec.NodeName)
		}
		return
	}
	h.placeholderGone(key)
	entered, err := h.podBound(pod, key)
	if isOverdue(pod) {
		h.ledger.MarkOverdue(key)
	}
	if err != nil {
		logger.Error(err, "Pod not entered into the ledger", "pod", klog.KObj(pod))
		return
	}
	if !h.synced.Load() {
		return // only the API knows when it was bound
	}
	h.histories.bound(key, h.clock(), entered)
	if entered {
		h.notify(pod.Spec.NodeName, h.bindOf(key, pod))
	}
}

// podPending wakes a waiting pod that has opted out of the plugin.
func (h *Hub) podPending(pod *v1.Pod) {
	if h.waiting.find(pod.UID) == nil {
		return
	}
	if p := h.profileOf(pod); p != nil && p.exempt(pod) {
		h.waiting.optOut(pod.UID)
	}
}

// podBound records a bound pod and reports whether it was new to the ledger.
func (h *Hub) podBound(pod *v1.Pod, key reserve.PodKey) (entered bool, err error) {
	demand := h.enter(pod)
	h.change(pod.Spec.NodeName, func() bool {
		entered, err = h.ledger.Bound(pod.Spec.NodeName, key, demand, h.clock())
		h.updateDemand(pod, key, demand)
		h.ledger.Progress(key, podstate.Progress(pod))
		h.ledger.Stands(key, podstate.Standing(pod), h.clock())
		return true // one that a report has listed already moves slow start's line
	})
	return entered, err
}

// podDeleted forgets a pod that the API no longer has.
func (h *Hub) podDeleted(pod *v1.Pod) {
	h.placeholders.change.Lock()
	defer h.placeholders.change.Unlock()
	h.podGone(pod)
	h.histories.forget(reserve.KeyOf(string(pod.UID)))
}

// podGone forgets what a deleted or terminal pod took; placeholders.change is held.
func (h *Hub) podGone(pod *v1.Pod) {
	if podstate.IsMirror(pod) {
		return
	}
	h.waiting.drop(pod.UID)
	h.workloads.end(pod.UID, pod.Spec.NodeName)
	h.workloads.leave(reserve.KeyOf(string(pod.UID)))
	key := reserve.KeyOf(string(pod.UID))
	if podstate.Progress(pod) == reserve.Ended {
		h.ledger.Progress(key, reserve.Ended)
	}
	// Even one that was not in flight moves slow start's line.
	name, _ := h.ledger.Delete(key, h.clock())
	h.refresh(name)
	h.placeholderGone(key)
}

// expire applies the time limits of the ledger's entries.
func (h *Hub) expire(ctx context.Context) {
	dropped, moved := h.ledger.Expire(h.clock())
	for _, name := range dropped {
		h.metrics.corrections[correctionExpired].Inc()
		klog.FromContext(ctx).Info("Reservation expired without a bind", "node", name)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(moved, dropped...)))) {
		h.refresh(name)
	}
}
