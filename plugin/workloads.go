package plugin

import (
	"math"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Where what is known of a pod comes from: its workload's profile, none, or one
// that is not to be looked at.
const (
	sourceProfile = "profile"
	sourceTypical = "typical"
	sourceOff     = "off"
)

// price is what a profile says of its workload's pods. It is never changed.
type price struct {
	demand   profile.Demand
	observed time.Time
	off      bool
}

// priceOf reads a profile; the error is a *FieldError of v1alpha1.
func priceOf(p *v1alpha1.WorkloadProfile) (price, error) {
	read := price{off: p.Spec.Mode == v1alpha1.Off}
	if p.Status.ObservedAt != nil {
		read.observed = p.Status.ObservedAt.Time
	}
	if p.Status.Demand == nil {
		return read, nil
	}
	var err error
	read.demand, err = p.Status.Demand.Value()
	return read, err
}

// at is what the profile is worth at a time: its confidence halves with age. It
// moves in steps, so that pods of a workload are alike for as long as may be.
func (p price) at(now time.Time, halfLife time.Duration) profile.Demand {
	d := p.demand
	left := math.Exp2(-max(now.Sub(p.observed), 0).Seconds() / halfLife.Seconds())
	for _, s := range [...]*profile.Share{&d.CPU, &d.Memory} {
		if s.Confidence = math.Round(s.Confidence*left*confidenceSteps) / confidenceSteps; s.Confidence == 0 {
			*s = profile.Share{}
		}
	}
	return d
}

// confidenceSteps from 0 to 1 are those in which profiles are written.
const confidenceSteps = 16

// workloads knows what workloads' profiles say, and which pods are whose. Safe for
// concurrent use; the zero value is ready.
type workloads struct {
	mu     sync.RWMutex
	prices map[profile.Workload]price
	// of holds the workload of each pod in the ledger, bound the pods of each.
	of    map[types.UID]profile.Workload
	bound map[profile.Workload]map[reserve.PodKey]struct{}
}

// identify returns a pod's workload.
func (w *workloads) identify(pod *v1.Pod) profile.Workload {
	w.mu.RLock()
	workload, known := w.of[pod.UID]
	w.mu.RUnlock()
	if known {
		return workload
	}
	workload, _, _ = profile.Identify(metaOf(pod))
	return workload
}

// metaOf leaves out the containers, which tell templates apart, not workloads.
func metaOf(pod *v1.Pod) profile.Meta {
	m := profile.Meta{
		Namespace: pod.Namespace, Name: pod.Name, GenerateName: pod.GenerateName,
		Labels: pod.Labels, Annotations: pod.Annotations, Created: pod.CreationTimestamp.Time,
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		m.Controller = profile.Owner{Kind: owner.Kind, Name: owner.Name}
	}
	return m
}

// price returns what is known of a workload, and whether anything is.
func (w *workloads) price(of profile.Workload) (price, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	p, known := w.prices[of]
	return p, known
}

// set replaces what is known of a workload, nil for nothing more, and says whether
// that is news.
func (w *workloads) set(of profile.Workload, p *price) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.prices[of]
	switch {
	case p == nil && !known, p != nil && known && before == *p:
		return false
	case p == nil:
		delete(w.prices, of)
	default:
		if w.prices == nil {
			w.prices = make(map[profile.Workload]price)
		}
		w.prices[of] = *p
	}
	return true
}

// pods returns those of a workload in the ledger.
func (w *workloads) pods(of profile.Workload) []reserve.PodKey {
	w.mu.RLock()
	defer w.mu.RUnlock()
	pods := make([]reserve.PodKey, 0, len(w.bound[of]))
	for key := range w.bound[of] {
		pods = append(pods, key)
	}
	return pods
}

// known returns the workloads of which something is known.
func (w *workloads) known() []profile.Workload {
	w.mu.RLock()
	defer w.mu.RUnlock()
	list := make([]profile.Workload, 0, len(w.prices))
	for of := range w.prices {
		list = append(list, of)
	}
	return list
}

// enter notes a pod that is in the ledger.
func (w *workloads) enter(of profile.Workload, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[types.UID]profile.Workload)
		w.bound = make(map[profile.Workload]map[reserve.PodKey]struct{})
	}
	if w.bound[of] == nil {
		w.bound[of] = make(map[reserve.PodKey]struct{})
	}
	w.of[uid] = of
	w.bound[of][reserve.KeyOf(string(uid))] = struct{}{}
}

// leave forgets a pod that is no longer in the ledger.
func (w *workloads) leave(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of, known := w.of[uid]
	if !known {
		return
	}
	delete(w.of, uid)
	delete(w.bound[of], reserve.KeyOf(string(uid)))
	if len(w.bound[of]) == 0 {
		delete(w.bound, of)
	}
}

// told is what is known of a pod, and where that comes from.
func (h *Hub) told(pod *v1.Pod) (profile.Demand, string) {
	if h.profiling.off() {
		return profile.Demand{}, sourceOff
	}
	p, known := h.workloads.price(h.workloads.identify(pod))
	switch {
	case !known:
		return profile.Demand{}, sourceTypical
	case p.off:
		return profile.Demand{}, sourceOff
	}
	d := p.at(h.clock(), h.profiling.halfLife)
	if d == (profile.Demand{}) {
		return d, sourceTypical
	}
	return d, sourceProfile
}

// demand is what the ledger counts a pod as that is about to enter it, and from
// then on is repriced.
func (h *Hub) demand(pod *v1.Pod) reserve.Demand {
	if h.profiling.off() {
		return reserve.TypicalPod()
	}
	d, _ := h.told(pod)
	h.workloads.enter(h.workloads.identify(pod), pod.UID)
	return agent.DemandOf(d, h.rules.admit)
}

// priced counts a pod by where what is known of it comes from.
func (h *Hub) priced(pod *v1.Pod) {
	_, source := h.told(pod)
	h.metrics.priced[source].Inc()
}

// learn takes in what a workload's profile now says, nil for nothing more.
func (h *Hub) learn(of profile.Workload, p *price) {
	if h.workloads.set(of, p) {
		h.reprice(of)
	}
}

// reprice brings a workload's pods in the ledger up to what is known of it, and the
// nodes that they are in flight to.
func (h *Hub) reprice(of profile.Workload) {
	pods := h.workloads.pods(of)
	if len(pods) == 0 {
		return
	}
	d := reserve.TypicalPod()
	if p, known := h.workloads.price(of); known && !p.off {
		d = agent.DemandOf(p.at(h.clock(), h.profiling.halfLife), h.rules.admit)
	}
	changed := make(map[string]struct{})
	for _, key := range pods {
		if node, moved, err := h.ledger.Reprice(key, d); err == nil && moved {
			h.metrics.repriced.Inc()
			changed[node] = struct{}{}
		}
	}
	for name := range changed {
		if n := h.nodes.get(name); n != nil {
			h.refresh(n)
		}
	}
}
