package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Explain returns what the plugin knows of a pod, given as namespace/name or as
// UID. Errors are ErrUnknownPod and ErrNotStarted, wrapped.
func (h *Hub) Explain(name string) (Explanation, error) {
	if h.Addr() == nil {
		return Explanation{}, fmt.Errorf("plugin: %w", ErrNotStarted)
	}
	pod, err := h.findPod(name)
	if err != nil {
		return Explanation{}, err
	}
	profile := h.profileOf(pod)
	e := Explanation{
		Pod: pod.Namespace + "/" + pod.Name, UID: pod.UID, Profile: pod.Spec.SchedulerName, Ours: profile != nil,
		Unscheduled: objects.Unscheduled(pod), Attempt: h.lastAttempt(pod.UID),
	}
	e.State, e.Node = h.podState(pod, profile)
	e.Steps = h.timeline(pod)
	e.wait(h.waiting.since(pod.UID), &h.rules.overdue, h.clock())
	if h.options.Buffer != nil && e.RoomSince != nil {
		e.Buffer = h.options.Buffer(pod)
	}
	known, _ := h.ledger.Pod(reserve.KeyOf(string(pod.UID)))
	e.Overdue = e.Overdue || known.Overdue
	if profile == nil {
		profile = &spazio{hub: h}
	}
	e.Nodes = profile.verdicts(pod)
	h.explainWorkload(&e, pod)
	if of := h.workloads.identify(pod); h.consumption.on.Load() {
		e.Energy = &energy.WorkloadEstimate{Workload: of.String(), Estimate: h.consumption.estimate(of)}
	}
	return e, nil
}

// explainWorkload fills in what is known of the pod, and what that would change.
func (h *Hub) explainWorkload(e *Explanation, pod *v1.Pod) {
	if h.profiling.off() {
		return
	}
	k := h.knowledge(pod)
	e.Workload = &WorkloadState{
		Workload: h.workloads.identify(pod).String(), Source: k.source, Decides: h.rules.byDemand && k.decides, CPU: ShareState(k.demand.CPU), Memory: ShareState(k.demand.Memory),
	}
	if k.source != SourceProfile {
		return
	}
	demand, at := h.demand(k), h.moment()
	for i := range e.Nodes {
		if n := h.nodes.get(e.Nodes[i].Node); n != nil {
			v := n.view.Load()
			e.Nodes[i].ByProfile = h.rules.byProfile(v, demand, at).String()
			e.Nodes[i].share(v.profiled(&h.rules), demand)
		}
	}
}

// share fills in what a pod of a demand takes of the node.
func (n *NodeVerdict) share(v reserve.View, d reserve.Demand) {
	shares, binding, ok := v.Shares(d)
	if !ok {
		return
	}
	n.Binding, n.Takes = binding.String(), make(map[string]float64, len(shares))
	for i, share := range shares {
		if share > 0 {
			n.Takes[reserve.Resource(i).String()] = share
		}
	}
}

// wait fills in since when the pod waits for room, if it does.
func (e *Explanation) wait(since time.Time, t *reserve.OverdueAdmission, now time.Time) {
	if since.IsZero() {
		return
	}
	e.RoomSince = &since
	if t.Overdue(now.Sub(since)) {
		late := since.Add(t.WithDefaults().MaxWait)
		e.Overdue, e.OverdueSince = true, &late
	}
}

// findPod needs a started Hub.
func (h *Hub) findPod(name string) (*v1.Pod, error) {
	if namespace, base, err := cache.SplitMetaNamespaceKey(name); err == nil && namespace != "" {
		if pod, err := h.pods.Pods(namespace).Get(base); err == nil {
			return pod, nil
		}
	}
	for _, pod := range h.allPods() {
		if string(pod.UID) == name {
			return pod, nil
		}
	}
	return nil, fmt.Errorf("plugin: pod %q: %w", name, ErrUnknownPod)
}

func (h *Hub) podState(pod *v1.Pod, profile *spazio) (state, node string) {
	known, ok := h.ledger.Pod(reserve.KeyOf(string(pod.UID)))
	switch {
	case objects.IsTerminal(pod):
		return podEnded, pod.Spec.NodeName
	case ok && !known.Confirmed:
		return podInFlight, known.Node
	case ok:
		return podCounted, known.Node
	case pod.Spec.NodeName != "" && h.Placeholder(pod.UID):
		return podPlaceholder, pod.Spec.NodeName
	case pod.Spec.NodeName != "":
		return podExempt, pod.Spec.NodeName
	case profile == nil || profile.exempt(pod):
		return podExempt, ""
	case h.waiting.find(pod.UID) != nil:
		return podWaiting, ""
	}
	return podNew, ""
}

func (h *Hub) lastAttempt(uid types.UID) *Attempt {
	if a := h.waiting.find(uid); a != nil {
		return a.summary.Load()
	}
	return h.histories.find(reserve.KeyOf(string(uid))).placed
}

// verdicts returns all nodes as a pod finds them, those that admit it with their score.
func (p *spazio) verdicts(pod *v1.Pod) []NodeVerdict {
	h := p.hub
	d, at := h.nodes.list(), h.moment()
	c := &cycle{directory: d, at: at, asks: h.kindOf(pod).asks}
	if h.consumption.on.Load() {
		c.energy = d.energy(&p.energy, h.cores(pod), at.Now)
	}
	if p.scoreOnly {
		c.scoreOnly(&h.rules)
	}
	list := make([]NodeVerdict, len(d.nodes))
	var ranked []*NodeVerdict
	var raw []float64
	for i, n := range d.nodes {
		v, verdict := n.view.Load(), &list[i]
		verdict.NodeState = h.nodeState(n, v, at)
		reason := h.rules.decide(v, c.asks, at)
		verdict.Reason = reason.String()
		verdict.setGoodness(v, &c.energy, at.Now)
		if reason == reserve.Admitted || p.scoreOnly {
			ranked, raw = append(ranked, verdict), append(raw, c.score(v, 0, &h.rules, p.ranking))
		}
	}
	scores := reserve.NormalizeTo(nil, raw)
	for i, n := range ranked {
		n.Score = &scores[i]
	}
	return list
}

// Pending returns the oldest pods that have no node and are not in flight, whatever their
// profile, the oldest first and at most as many as most, none if that is negative. It also
// returns how many there are in all. It takes a time that grows with the number of pods.
func (h *Hub) Pending(most int) (oldest []PendingPod, total int) {
	var pods []*v1.Pod
	for _, pod := range h.Pods() {
		if pod.Spec.NodeName != "" || objects.IsTerminal(pod) {
			continue
		}
		if _, reserved := h.ledger.Pod(reserve.KeyOf(string(pod.UID))); !reserved {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, pod := range pods[:min(max(most, 0), len(pods))] {
		oldest = append(oldest, PendingPod{
			Namespace: pod.Namespace, Name: pod.Name, Profile: pod.Spec.SchedulerName, Since: pod.CreationTimestamp.Time, Reason: h.whyPending(pod),
		})
	}
	return oldest, len(pods)
}

// Pods returns all pods that the scheduler knows, in any order; none before New. They are
// the informer's: not to be changed.
func (h *Hub) Pods() []*v1.Pod {
	if h.Addr() == nil {
		return nil
	}
	return h.allPods()
}

// allPods is Pods of a started Hub.
func (h *Hub) allPods() []*v1.Pod {
	pods, _ := h.pods.List(labels.Everything()) // a cache's lister returns no error
	return pods
}

// whyPending is for a pod without a node.
func (h *Hub) whyPending(pod *v1.Pod) string {
	var summary *Attempt
	if a := h.waiting.find(pod.UID); a != nil {
		summary = a.summary.Load()
	}
	said := objects.Unscheduled(pod)
	switch {
	case summary != nil && summary.WithRoom == 0 && len(summary.Refusals) > 0:
		return fmt.Sprintf("none of %s has room: %s", plural(summary.Nodes, "node"), inWords(summary.Refusals))
	case said != "":
		return said
	case summary != nil:
		return fmt.Sprintf("%d of %s admitted it when it was tried", summary.WithRoom, plural(summary.Nodes, "node"))
	case h.profileOf(pod) == nil:
		return fmt.Sprintf("its schedulerName is %s: Spazio does not place it", pod.Spec.SchedulerName)
	}
	return "not tried yet"
}

// plural counts things in words, as in "1 node" and "2 nodes".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// returned records that a reservation was returned.
func (h *Hub) returned(pod *v1.Pod) {
	h.histories.returned(reserve.KeyOf(string(pod.UID)))
	h.forgetGone(pod)
}

// forgetGone forgets a pod that may have been deleted while it was being reserved, because no
// further event would.
func (h *Hub) forgetGone(pod *v1.Pod) {
	if current, err := h.pods.Pods(pod.Namespace).Get(pod.Name); err != nil || current.UID != pod.UID {
		h.histories.forget(reserve.KeyOf(string(pod.UID)))
	}
}

// tried records an attempt. A pod that was deleted after it left the queue gets no further event,
// so its history is dropped.
func (h *Hub) tried(pod *v1.Pod, at time.Time, t *refusalCounts) {
	key := reserve.KeyOf(string(pod.UID))
	h.histories.tried(key, at, t)
	if h.waiting.find(pod.UID) == nil {
		h.histories.forget(key)
	}
}

// timeline returns what has happened to a pod so far, in order, from what the Hub saw or else
// from what the API has. A step that is past but whose time is unknown has no time.
func (h *Hub) timeline(pod *v1.Pod) []Step {
	key, node := reserve.KeyOf(string(pod.UID)), pod.Spec.NodeName
	e := h.histories.find(key)
	known, claimed := h.ledger.Pod(key)
	steps := []Step{inSeconds(stepCreated, "", pod.CreationTimestamp.Time)}
	if e.tries > 0 {
		steps = append(steps, Step{Name: stepTried, At: stamp(e.first), Tries: e.export()})
	}
	if e.reserved != 0 {
		on := node
		if claimed {
			on = known.Node
		}
		steps = append(steps, Step{Name: stepReserved, Node: on, At: stamp(e.reserved)})
	}
	if node != "" {
		steps = append(steps, e.onNode(pod, claimed && known.Confirmed && known.Progress != reserve.Ended)...)
	}
	if at := objects.StartedAt(pod); !at.IsZero() {
		steps = append(steps, inSeconds(stepStarted, "", at))
	}
	if objects.IsTerminal(pod) {
		ended := inSeconds(stepEnded, "", objects.EndedAt(pod))
		ended.Phase = string(pod.Status.Phase)
		steps = append(steps, ended)
	}
	return steps
}
