package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
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
	pods, err := factory.Core().V1().Pods().Informer().AddEventHandler(objects.Handler(func(pod *v1.Pod) { h.podSeen(logger, pod) }, h.podDeleted))
	if err != nil {
		return nil, fmt.Errorf("follow pods: %w", err)
	}
	nodes, err := factory.Core().V1().Nodes().Informer().AddEventHandler(objects.Handler(h.nodeSeen, h.nodeGone))
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

// podSeen updates the ledger with what the API shows of a pod.
func (h *Hub) podSeen(logger klog.Logger, pod *v1.Pod) {
	h.placeholders.change.Lock()
	defer h.placeholders.change.Unlock()
	h.podKnown(logger, pod)
}

// podKnown is podSeen for a caller that holds placeholders.change.
func (h *Hub) podKnown(logger klog.Logger, pod *v1.Pod) {
	switch {
	case objects.IsMirror(pod):
		return
	case objects.IsTerminal(pod):
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
		h.ledger.Progress(key, objects.Progress(pod))
		h.ledger.Stands(key, objects.Standing(pod), h.clock())
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
	if objects.IsMirror(pod) {
		return
	}
	h.waiting.drop(pod.UID)
	h.workloads.end(pod.UID, pod.Spec.NodeName)
	h.workloads.leave(reserve.KeyOf(string(pod.UID)))
	key := reserve.KeyOf(string(pod.UID))
	if objects.Progress(pod) == reserve.Ended {
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

const (
	// overdueReason is the reason of both the condition and the event.
	overdueReason = "OverdueAdmission"
	noRoomReason  = "NoMeasuredRoom"
	placedReason  = "Placed"
	// markSpacing is the minimum time between two marks, because binds are sent through the same
	// client, which by default sends 50 requests a second.
	markSpacing = 100 * time.Millisecond
)

// setConditions writes conditions into a pod's status, provided that it is still the same pod.
func setConditions(ctx context.Context, handle fwk.Handle, pod *v1.Pod, conditions ...v1.PodCondition) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return err
	}
	pods := handle.ClientSet().CoreV1().Pods(pod.Namespace)
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// markAll marks pods that have waited long, one at a time, until ctx ends. After the API has
// refused a mark, it pauses for the slow retry's period.
func (h *Hub) markAll(ctx context.Context) {
	pause := markSpacing
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if pause = markSpacing; !h.markNext(ctx) {
			pause = max(h.args.RetryPeriod.Duration, markSpacing)
		}
	}
}

// markNext marks the next pod that has waited long. It returns false if the API refused the mark.
func (h *Hub) markNext(ctx context.Context) bool {
	p, pod, handle, since := h.waiting.nextMark()
	if p == nil {
		return true
	}
	err := setConditions(ctx, handle, pod, v1.PodCondition{
		Type: WaitsForRoomCondition, Status: v1.ConditionTrue, Reason: noRoomReason,
		Message: "No node has had measured room for the pod since.", LastTransitionTime: metav1.NewTime(since),
	})
	if waits := h.waiting.written(p, err == nil); err == nil && !waits { // it was reserved meanwhile
		err = setConditions(ctx, handle, pod, h.hasRoom())
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
		return true // the last three: the pod or the scheduler is gone
	}
	klog.FromContext(ctx).Info("Cannot write the condition of a pod that waits for room; if another scheduler takes the lead, the pod's wait begins anew",
		"pod", klog.KObj(pod), "condition", WaitsForRoomCondition, "nextTry", h.args.RetryPeriod.Duration, "err", err)
	return false
}

// hasRoom returns the condition of a marked pod that no longer waits.
func (h *Hub) hasRoom() v1.PodCondition {
	return v1.PodCondition{
		Type: WaitsForRoomCondition, Status: v1.ConditionFalse, Reason: placedReason, LastTransitionTime: metav1.NewTime(h.clock()),
	}
}

// preFlight skips PreBind for pods that need no condition written.
func (p *spazio) preFlight(state fwk.CycleState, pod *v1.Pod) *fwk.Status {
	if overdue, marked := p.toWrite(state, pod); overdue || marked {
		return nil
	}
	return fwk.NewStatus(fwk.Skip)
}

// toWrite reports whether a cycle's pod was reserved on a node without room, and whether it is
// marked as waiting for room.
func (p *spazio) toWrite(state fwk.CycleState, pod *v1.Pod) (overdue, marked bool) {
	c, err := p.cycle(state)
	return err == nil && c.admittedOverdue, err == nil && c.marked || !roomSince(pod).IsZero()
}

// PreBind marks an overdue pod in the API, and clears the mark of a pod that no longer waits.
func (p *spazio) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	overdue, marked := p.toWrite(state, pod)
	var conditions []v1.PodCondition
	if marked {
		conditions = append(conditions, p.hub.hasRoom())
	}
	if overdue {
		conditions = append(conditions, v1.PodCondition{
			Type: OverdueCondition, Status: v1.ConditionTrue, Reason: overdueReason, Message: p.overdueMessage(),
			LastTransitionTime: metav1.NewTime(p.hub.clock()),
		})
	}
	if len(conditions) == 0 {
		return nil
	}
	err := setConditions(ctx, p.handle, pod, conditions...)
	if err != nil && overdue {
		return fwk.AsStatus(fmt.Errorf("plugin: mark an overdue pod: %w", err))
	}
	if err != nil { // the pod has its node all the same
		klog.FromContext(ctx).Info("Cannot set the condition of a pod that has found room to False", "pod", klog.KObj(pod), "condition", WaitsForRoomCondition, "err", err)
	}
	return nil
}

func (p *spazio) overdueMessage() string {
	return fmt.Sprintf("No node had measured room for %v", p.hub.rules.overdue.WithDefaults().MaxWait)
}

// announceOverdue counts an overdue pod that was bound and records an event on it.
func (p *spazio) announceOverdue(pod *v1.Pod, node string, short reserve.Reason) {
	p.hub.metrics.overdue.Inc()
	which := ""
	if short == reserve.NoCPU || short == reserve.NoMemory {
		which = fmt.Sprintf(" (%s)", short)
	}
	if recorder := p.handle.EventRecorder(); recorder != nil {
		recorder.Eventf(pod, nil, v1.EventTypeWarning, overdueReason, "Binding",
			"%s: bound to %s, which has none either%s", p.overdueMessage(), node, which)
	}
}
