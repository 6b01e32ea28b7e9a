package plugin

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// estimate is what a profile states about its workload's pods. It is never changed.
type estimate struct {
	demand   profile.Demand
	observed time.Time
	mode     v1alpha1.Mode
}

// estimateOf reads a profile; the error is a *field.Error of v1alpha1.
func estimateOf(p *v1alpha1.WorkloadProfile) (estimate, error) {
	read := estimate{mode: p.Spec.Mode}
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

// at returns the profile's demand at a time, as its confidence halves with age. It changes in
// steps, so that the pods of a workload stay alike as long as possible.
func (p estimate) at(now time.Time, halfLife time.Duration) profile.Demand {
	d := p.demand
	left := math.Exp2(-max(now.Sub(p.observed), 0).Seconds() / halfLife.Seconds())
	for _, s := range [...]*profile.Share{&d.CPU, &d.Memory} {
		if s.Confidence = math.Round(s.Confidence*left*confidenceSteps) / confidenceSteps; s.Confidence == 0 {
			*s = profile.Share{}
		}
	}
	return d
}

// confidenceSteps is the number of steps from 0 to 1 in which confidences are written.
const confidenceSteps = 16

// workloads holds what workloads' profiles state, and the workload of each pod. Safe for
// concurrent use.
type workloads struct {
	mu    sync.RWMutex
	all   map[profile.Workload]*workload
	byPod map[reserve.PodKey]knownPod // in the ledger
	// start is when durations began; it is set before the first profile.
	start time.Time
	// ended are the pods that ended last, which reports may still mention.
	ended ring[endedPod]
}

// workload is one of which something is known or that has pods in the ledger.
type workload struct {
	estimate *estimate // nil if nothing is known
	trust    placement.Trust
	pods     map[reserve.PodKey]struct{}
}

// endedMost bounds the pods that end within the seconds for which reports still mention a pod.
const endedMost = 1024

// knownPod is a pod's workload, and the demand that its node's agent was last sent for it.
type knownPod struct {
	of        profile.Workload
	predicted profile.Demand
}

type endedPod struct {
	knownPod
	key  reserve.PodKey
	node string
}

// identify returns a pod's workload.
func (w *workloads) identify(pod *v1.Pod) profile.Workload {
	if workload, known := w.workloadOf(reserve.KeyOf(string(pod.UID))); known {
		return workload
	}
	workload, _, _ := profile.Identify(v1alpha1.MetaOf(pod)) // containers tell templates apart, not workloads
	return workload
}

// workloadOf returns the workload of a pod in the ledger.
func (w *workloads) workloadOf(key reserve.PodKey) (of profile.Workload, known bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	pod, known := w.byPod[key]
	return pod.of, known
}

// estimate returns what is known about a workload, nil if nothing is, and whether too many nodes have
// contradicted it since it was observed.
func (w *workloads) estimate(of profile.Workload) (p *estimate, distrusted bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	k := w.all[of]
	if k == nil || k.estimate == nil {
		return nil, false
	}
	return k.estimate, w.isDistrusted(k)
}

// isDistrusted reports whether what is known about a workload is not to be used. The mutex is held.
func (w *workloads) isDistrusted(k *workload) bool {
	return k.trust.IsDistrusted(k.estimate.observed.Sub(w.start))
}

// addOutlier notes that a node measured one of a workload's pods to take something else than was
// predicted, and reports whether its profile is distrusted from now on.
func (w *workloads) addOutlier(of profile.Workload, node int, now time.Duration) (distrusted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.all[of]
	return k != nil && k.estimate != nil && !w.isDistrusted(k) && k.trust.AddOutlier(node, now)
}

// change edits what is kept of a workload, and forgets it if nothing is left. The mutex is held.
func (w *workloads) change(of profile.Workload, edit func(*workload)) {
	k := w.all[of]
	if k == nil {
		k = &workload{pods: make(map[reserve.PodKey]struct{})}
		w.all[of] = k
	}
	if edit(k); k.estimate == nil && len(k.pods) == 0 {
		delete(w.all, of)
	}
}

// set replaces what is known about a workload and reports whether that is a change; nil removes
// it.
func (w *workloads) set(of profile.Workload, p *estimate) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change(of, func(k *workload) {
		if p == nil {
			k.trust = placement.Trust{}
		}
		changed = (p == nil) != (k.estimate == nil) || p != nil && *p != *k.estimate
		k.estimate = p
	})
	return changed
}

// pods returns the pods of a workload in the ledger.
func (w *workloads) pods(of profile.Workload) []reserve.PodKey {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if k := w.all[of]; k != nil {
		return slices.Collect(maps.Keys(k.pods))
	}
	return nil
}

// known returns the workloads about which something is known.
func (w *workloads) known() (list []profile.Workload) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for of, k := range w.all {
		if k.estimate != nil {
			list = append(list, of)
		}
	}
	return list
}

// enter records a pod that is in the ledger.
func (w *workloads) enter(of profile.Workload, uid types.UID) {
	key := reserve.KeyOf(string(uid))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byPod[key] = knownPod{of, w.byPod[key].predicted}
	w.change(of, func(k *workload) { k.pods[key] = struct{}{} })
}

// end remembers for a while a pod that has ended on a node.
func (w *workloads) end(uid types.UID, node string) {
	key := reserve.KeyOf(string(uid))
	w.mu.Lock()
	defer w.mu.Unlock()
	if pod, known := w.byPod[key]; known {
		w.ended.push(endedPod{pod, key, node}, endedMost)
	}
}

// predict records the demand that a pod's agent is sent.
func (w *workloads) predict(key reserve.PodKey, d profile.Demand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if pod, known := w.byPod[key]; known && pod.predicted != d {
		pod.predicted = d
		w.byPod[key] = pod
	}
}

// on returns what is known of a pod that is on a node, or has lately ended there.
func (w *workloads) on(node string, key reserve.PodKey, ledger *reserve.Ledger) (pod knownPod, known bool) {
	claimed, there := ledger.Pod(key)
	w.mu.RLock()
	defer w.mu.RUnlock()
	if pod, known := w.byPod[key]; known {
		return pod, there && claimed.Node == node
	}
	for _, e := range w.ended.keys {
		if e.key == key && e.node == node {
			return e.knownPod, true
		}
	}
	return knownPod{}, false
}

// leave forgets a pod that is no longer in the ledger.
func (w *workloads) leave(key reserve.PodKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if pod, known := w.byPod[key]; known {
		delete(w.byPod, key)
		w.change(pod.of, func(k *workload) { delete(k.pods, key) })
	}
}

// newMispredictions returns those of a report that the one before does not list: reports repeat them,
// because any may be lost.
func newMispredictions(r, before *agent.Report) []agent.Misprediction {
	if before == nil || len(r.Mispredictions) == 0 {
		return r.Mispredictions
	}
	return slices.DeleteFunc(slices.Clone(r.Mispredictions), func(s agent.Misprediction) bool {
		return slices.Contains(before.Mispredictions, s) // of a pod there may be two, of its CPU and of its memory
	})
}
