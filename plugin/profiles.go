package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/placement"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/internal/objects"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// profilesRetry is how often an API server is asked again that has no WorkloadProfiles, or does
// not let them be read.
const profilesRetry = 5 * time.Minute

// profiling is how profiles are followed. They are off until the API server has delivered all of
// them.
type profiling struct {
	source cache.ListerWatcher
	on     atomic.Bool
}

func (p *profiling) off() bool { return !p.on.Load() }

// profileSource returns where the profiles are listed and watched, or nil if they are not to be
// used.
func (h *Hub) profileSource(args SpazioArgs, handle Cluster) (cache.ListerWatcher, error) {
	switch {
	case args.Profiles == config.ProfilesOff:
		return nil, nil
	case h.options.Profiles != nil:
		return h.options.Profiles, nil
	case handle.KubeConfig() == nil:
		return nil, nil
	}
	// This client uses JSON, whatever the scheduler uses, because the API server serves custom
	// resources in no other form.
	c := rest.CopyConfig(handle.KubeConfig())
	c.APIPath, c.GroupVersion, c.NegotiatedSerializer = "/apis", &v1alpha1.GroupVersion, v1alpha1.Codecs
	c.ContentType, c.AcceptContentTypes = "application/json", "application/json"
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("client for workload profiles: %w", err)
	}
	return cache.NewListWatchFromClient(client, v1alpha1.Profiles, metav1.NamespaceAll, fields.Everything()), nil
}

// followProfiles keeps what is known about workloads up to date until ctx ends.
func (h *Hub) followProfiles(ctx context.Context) {
	if h.profiling.source == nil {
		return
	}
	logger, logged := klog.FromContext(ctx), false
	profiles := objects.Kind{
		Source: h.profiling.source, Object: &v1alpha1.WorkloadProfile{}, Strip: stripProfile, Retry: cmp.Or(h.options.ProfilesRetry, profilesRetry),
		Handler: objects.Handler(func(p *v1alpha1.WorkloadProfile) { h.profileSeen(ctx, p) }, func(p *v1alpha1.WorkloadProfile) {
			h.learn(p.Spec.Workload.In(p.Namespace), nil)
		}),
		Synced: func() {
			h.profiling.on.Store(true)
			for _, of := range h.workloads.known() {
				h.updateDemands(of)
			}
			h.introduceAll()
		},
		Ended: func(err error) {
			h.forgetProfiles()
			cause := interruptedError
			if objects.Absent(err) {
				cause = interruptedAbsent
			}
			h.metrics.interruptions[cause].Inc()
			if !logged { // logged once until they are there again
				logger.Info("Workload profiles are off: every pod counts as a typical one", "reason", err)
			}
			logged = !errors.Is(err, objects.ErrGone)
		},
	}
	profiles.Follow(ctx)
	h.forgetProfiles()
}

// forgetProfiles makes every pod count as a typical one.
func (h *Hub) forgetProfiles() {
	h.profiling.on.Store(false)
	for _, of := range h.workloads.known() {
		h.learn(of, nil)
	}
}

// stripProfile keeps what a scheduler reads of a profile.
func stripProfile(obj any) (any, error) {
	p, ok := obj.(*v1alpha1.WorkloadProfile)
	if !ok {
		return obj, nil
	}
	return &v1alpha1.WorkloadProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion},
		Spec:       v1alpha1.WorkloadProfileSpec{Workload: p.Spec.Workload, Mode: p.Spec.Mode},
		Status:     v1alpha1.WorkloadProfileStatus{ObservedAt: p.Status.ObservedAt, Demand: p.Status.Demand},
	}, nil
}

// profileSeen takes in a profile. An invalid one counts as none. One whose name is not that of
// its workload is not the profiler's and is ignored.
func (h *Hub) profileSeen(ctx context.Context, p *v1alpha1.WorkloadProfile) {
	of := p.Spec.Workload.In(p.Namespace)
	if p.Name != v1alpha1.NameOf(of) {
		return
	}
	read, err := estimateOf(p)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Workload profile not taken", "profile", klog.KObj(p))
		h.learn(of, nil)
		return
	}
	h.learn(of, &read)
}

// knowledge is what is known about a pod.
type knowledge struct {
	// demand is zero if nothing is known.
	demand profile.Demand
	source string
	// decides is set if decisions are to rest on demand, as far as the scheduler's own setting
	// allows.
	decides bool
}

// The knowledge about a pod is that about its workload's pods; see knowledgeOf.
func (h *Hub) knowledge(pod *v1.Pod) knowledge {
	if h.profiling.off() {
		return knowledge{source: sourceOff} // without a look for the pod's workload
	}
	return h.knowledgeOf(h.workloads.identify(pod))
}

// knowledgeOf returns what is known about a workload's pods.
func (h *Hub) knowledgeOf(of profile.Workload) knowledge {
	if h.profiling.off() {
		return knowledge{source: sourceOff}
	}
	p, distrusted := h.workloads.estimate(of)
	switch {
	case p == nil:
		return knowledge{source: sourceTypical}
	case p.mode == v1alpha1.Off:
		return knowledge{source: sourceOff}
	case distrusted:
		return knowledge{source: SourceContradicted}
	}
	d := p.at(h.clock(), h.args.ProfileHalfLife.Duration)
	if d == (profile.Demand{}) {
		return knowledge{source: sourceTypical}
	}
	return knowledge{demand: d, source: SourceProfile, decides: p.mode != v1alpha1.Observe}
}

// demand returns what a pod is known to ask for, whether or not decisions rest on it.
func (h *Hub) demand(k knowledge) reserve.Demand {
	if k.source != SourceProfile {
		return podDemand
	}
	return agent.DemandOf(k.demand, h.rules.admit)
}

// asks returns what decisions assume that a pod asks for.
func (h *Hub) asks(k knowledge) reserve.Demand {
	if !h.rules.byDemand || !k.decides {
		return podDemand
	}
	return h.demand(k)
}

// kindOf returns a pod's workload and what decisions assume that it asks for. The workload is
// zero if neither profiles nor lives decide.
func (h *Hub) kindOf(pod *v1.Pod) kind {
	if !h.rules.byDemand && !h.lives.isOn.Load() {
		return kind{asks: podDemand}
	}
	of := h.workloads.identify(pod)
	return kind{of, h.asks(h.knowledgeOf(of))}
}

// enter records a pod that is about to enter the ledger, so that its demand is updated from then
// on, and returns what the ledger counts it as. Once the pod has entered, updateDemand has to follow.
func (h *Hub) enter(pod *v1.Pod) reserve.Demand {
	of := h.workloads.identify(pod)
	h.workloads.enter(of, pod.UID)
	return h.claims(of, h.knowledgeOf(of))
}

// claims returns what the ledger counts a pod as, with the cores that the pod is expected to keep busy
// if energy is tracked. If profiles are only observed, the ledger holds what would decide if they were
// on.
func (h *Hub) claims(of profile.Workload, k knowledge) reserve.Demand {
	d := h.demand(k)
	if h.rules.byDemand {
		d = h.asks(k)
	}
	if h.consumption.on.Load() {
		d.Cores = h.coresOf(of, k)
	}
	return d
}

// cores returns how many cores a pod is expected to keep busy.
func (h *Hub) cores(pod *v1.Pod) float64 {
	of := h.workloads.identify(pod)
	return h.coresOf(of, h.knowledgeOf(of))
}

// updateDemand updates a pod that entered the ledger at a demand, because its profile may have
// changed meanwhile. New measurements of its workload change nothing: the pod keeps the cores
// that it entered at.
func (h *Hub) updateDemand(pod *v1.Pod, key reserve.PodKey, at reserve.Demand) {
	of := h.workloads.identify(pod)
	d := h.claims(of, h.knowledgeOf(of))
	if at.Cores = d.Cores; d != at {
		_, _, _ = h.ledger.UpdateDemand(key, d) // Reserve or Bound has returned the error
	}
}

// learn takes in what a workload's profile now states; nil means no more.
func (h *Hub) learn(of profile.Workload, p *estimate) {
	if h.workloads.set(of, p) {
		h.updateDemands(of)
	}
}

// updateDemands updates the demand of a workload's pods in the ledger, the nodes that they are in
// flight to, and the pods that wait.
func (h *Hub) updateDemands(of profile.Workload) {
	k := h.knowledgeOf(of)
	claims, changed := h.claims(of, k), make(map[string]struct{})
	for _, key := range h.workloads.pods(of) {
		if node, moved, err := h.ledger.UpdateDemand(key, claims); err == nil && moved {
			changed[node] = struct{}{}
		}
	}
	for name := range changed {
		h.refresh(name)
	}
	h.waiting.reclass(of, h.asks(k))
}

// mispredicted takes in a node's pods that were measured to take something else than was predicted. A
// node's word counts for its own pods alone, and only against what is known by now: what was known when
// the pod was placed may have been corrected since. No node's mutex is held.
func (h *Hub) mispredicted(n *node, list []agent.Misprediction) {
	if len(list) == 0 || !h.rules.byDemand || h.profiling.off() {
		return
	}
	for _, s := range list {
		pod, known := h.workloads.on(n.name, s.Pod, h.ledger)
		if !known {
			continue
		}
		k := h.knowledgeOf(pod.of)
		if !k.decides {
			continue
		}
		h.metrics.mispredicted(s)
		if s.Contradicts(pod.predicted, k.demand) && h.workloads.addOutlier(pod.of, n.id, h.now()) {
			h.metrics.dropped.Inc()
			h.updateDemands(pod.of)
		}
	}
}

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
	if known, is := w.workloadOf(key); is && known == of {
		return // as for each update of a pod's status
	}
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
