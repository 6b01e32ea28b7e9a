package controller

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// ResizeLabel, with the value "true", marks pods whose owner wants their requests changed.
const ResizeLabel = "spazio-scheduler.github.io/resize"

const (
	// resizeEvery is the least time between two changes of a pod, and from its start to the first.
	resizeEvery = 10 * time.Minute
	// leastChange is the share of a request by which the recommendation must differ from it.
	leastChange = .1
	// enoughConfidence is the confidence from which on recommendations are acted on.
	enoughConfidence = .5
)

// verdict is what becomes of a pod; metrics name it.
type verdict string

const (
	verdictChange     verdict = "change"     // its requests are to be changed
	verdictFits       verdict = "fits"       // its requests are about what is recommended
	verdictUnfit      verdict = "unfit"      // it does not run, or its class or kind cannot be resized
	verdictEarly      verdict = "early"      // it began, or was changed, less than resizeEvery ago
	verdictInfeasible verdict = "infeasible" // its node can never make the last change
	verdictWaiting    verdict = "waiting"    // its node has not made the last change yet
	verdictUnknown    verdict = "unknown"    // its workload is not known well, or was not measured of late
	verdictScaled     verdict = "scaled"     // the number of pods follows the share of the requests in use
	verdictGuaranteed verdict = "guaranteed" // with these requests its class would change
)

var verdicts = []verdict{
	verdictChange, verdictFits, verdictUnfit, verdictEarly, verdictInfeasible, verdictWaiting, verdictUnknown, verdictScaled, verdictGuaranteed,
}

// The resources that are resized index arrays.
const (
	cpu = iota
	memory
	resources
)

var resourceNames = [resources]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// resizeInput is what a decision about a pod needs beside the pod.
type resizeInput struct {
	advice profiler.Advice // of the pod's workload
	known  bool            // there is advice
	scaled scaling
	// peak returns the most memory that a container of the pod was seen with, in bytes, 0 if it
	// was not measured.
	peak func(container string) float64
}

// decideResize returns a strategic merge patch of pods/resize with the requests that the pod's
// containers should have, for the pod's version and UID; nil unless the verdict is verdictChange.
func decideResize(at time.Time, p *resizePod, in resizeInput) (patch []byte, v verdict) {
	confidence := min(in.advice.Demand.CPU.Confidence, in.advice.Demand.Memory.Confidence)
	switch {
	case !p.resizable:
		return nil, verdictUnfit
	case p.pending == corev1.PodReasonInfeasible:
		return nil, verdictInfeasible
	case p.pending != "":
		return nil, verdictWaiting
	case at.Sub(p.since) < resizeEvery:
		return nil, verdictEarly
	case !in.known || in.advice.Stale || confidence < enoughConfidence:
		return nil, verdictUnknown
	}
	var changed []any
	guaranteed := p.guaranteed
	for i := range p.containers {
		c := &p.containers[i]
		requests, changes := c.changes(in)
		guaranteed = guaranteed && c.isGuaranteed(requests)
		if len(changes) > 0 {
			changed = append(changed, map[string]any{"name": c.name, "resources": map[string]any{"requests": changes}})
		}
	}
	switch {
	case changed == nil && in.scaled != scaling{}:
		return nil, verdictScaled
	case changed == nil:
		return nil, verdictFits
	case guaranteed:
		return nil, verdictGuaranteed
	}
	// With the version the API server refuses the patch if the pod has changed since.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.uid, "resourceVersion": p.version}, "spec": map[string]any{"containers": changed},
	})
	if err != nil { // maps of strings have no error
		return nil, verdictUnfit
	}
	return patch, verdictChange
}

// changes returns the requests a container should have, and those of them that change.
func (c *resizeContainer) changes(in resizeInput) (requests [resources]float64, changes map[string]string) {
	requests = c.requests
	for r, name := range resourceNames {
		target := targetOf(in.advice.Recommendations, c.name, r)
		old := c.requests[r]
		if target == 0 || old == 0 || c.fixed[r] || in.scaled[r] {
			continue
		}
		if r == memory && target < old {
			peak := in.peak(c.name)
			if peak == 0 {
				continue
			}
			target = max(target, peak)
		}
		if c.limits[r] > 0 {
			target = min(target, c.limits[r])
		}
		if math.Abs(target-old) < leastChange*old {
			continue
		}
		if changes == nil {
			changes = map[string]string{}
		}
		requests[r] = target
		changes[string(name)] = quantityOf(r, target)
	}
	return requests, changes
}

// targetOf returns the recommended amount of a container's resource, 0 without one.
func targetOf(all []profile.Recommendation, container string, r int) float64 {
	for i := range all {
		if all[i].Container == container {
			return [resources]float64{all[i].Target.CPU, all[i].Target.Memory}[r]
		}
	}
	return 0
}

// resizePod is what a decision needs of a pod.
type resizePod struct {
	uid, version string
	workload     profile.Workload
	containers   []resizeContainer
	// resizable reports that it runs, is of the class Burstable, and of a kind that can be resized.
	resizable bool
	// since is when it began to run, or was last resized.
	since time.Time
	// pending is why its last resize is not done, empty if it is.
	pending string
	// guaranteed reports that what is beside containers would leave the pod Guaranteed.
	guaranteed bool
}

type resizeContainer struct {
	name string
	// requests and limits are 0 where there is none; fixed ones cannot change without a restart.
	requests, limits [resources]float64
	fixed            [resources]bool
}

func resizePodOf(p *corev1.Pod) resizePod {
	meta := v1alpha1.MetaOf(p)
	meta.Node = p.Spec.NodeName
	w, _, _ := profile.Identify(meta)
	made := resizePod{
		uid: string(p.UID), version: p.ResourceVersion, workload: w,
		resizable: isResizable(p), since: resizedAt(p), pending: pendingResize(p), guaranteed: true,
	}
	for i := range p.Spec.InitContainers {
		c := resizeContainerOf(&p.Spec.InitContainers[i])
		made.guaranteed = made.guaranteed && c.isGuaranteed(c.requests)
	}
	for i := range p.Spec.Containers {
		made.containers = append(made.containers, resizeContainerOf(&p.Spec.Containers[i]))
	}
	return made
}

// isResizable refuses static pods, those of Windows and those with resources of the pod as a whole.
func isResizable(p *corev1.Pod) bool {
	static := p.Annotations[corev1.MirrorPodAnnotationKey] != ""
	windows := p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && p.Status.QOSClass == corev1.PodQOSBurstable &&
		!static && !windows && p.Spec.Resources == nil
}

// resizedAt reads from the managers of the pod's fields when anybody last resized it.
func resizedAt(p *corev1.Pod) (at time.Time) {
	if p.Status.StartTime != nil {
		at = p.Status.StartTime.Time
	}
	for _, m := range p.ManagedFields {
		if m.Subresource == "resize" && m.Time != nil && m.Time.After(at) {
			at = m.Time.Time
		}
	}
	return at
}

func pendingResize(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PodResizePending && c.Reason != "":
			return c.Reason
		case c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress:
			return string(c.Type)
		}
	}
	return ""
}

func resizeContainerOf(c *corev1.Container) resizeContainer {
	made := resizeContainer{name: c.Name}
	amount := func(list corev1.ResourceList, name corev1.ResourceName) float64 {
		q := list[name]
		return max(q.AsApproximateFloat64(), 0)
	}
	for r, name := range resourceNames {
		made.requests[r], made.limits[r] = amount(c.Resources.Requests, name), amount(c.Resources.Limits, name)
		for _, p := range c.ResizePolicy {
			made.fixed[r] = made.fixed[r] || p.ResourceName == name && p.RestartPolicy == corev1.RestartContainer
		}
	}
	return made
}

// isGuaranteed reports whether a container with these requests may be part of a Guaranteed pod.
func (c *resizeContainer) isGuaranteed(requests [resources]float64) bool {
	for r := range resourceNames {
		if c.limits[r] == 0 || quantityOf(r, requests[r]) != quantityOf(r, c.limits[r]) {
			return false
		}
	}
	return true
}

// quantityOf writes an amount: CPU in whole millicores, memory in whole KiB.
func quantityOf(r int, v float64) string {
	var q resource.Quantity
	if r == cpu {
		q = v1alpha1.Millicores(v)
	} else {
		q = v1alpha1.Bytes(v)
	}
	return q.String()
}

const resizeKind = "resize"

// resizer changes the requests of running pods whose owners ask for it.
type resizer struct {
	*Controller
	pods   *index[resizePod]
	agenda agenda
}

func newResizer(c *Controller) *resizer {
	return &resizer{Controller: c, pods: &index[resizePod]{read: func(object any) (made resizePod, ok bool) {
		p, ok := object.(*corev1.Pod)
		if ok {
			made = resizePodOf(p)
		}
		return made, ok
	}}}
}

func (r *resizer) follow(ctx context.Context) {
	var scalers sync.WaitGroup
	defer scalers.Wait()
	scalers.Go(func() { r.scalers.follow(ctx, r.Controller) })
	r.Controller.follow(ctx, listWatch(r.Controller.pods, "pods", ResizeLabel+"=true"), "pods", &corev1.Pod{}, reflectorStore{sink: r.pods})
}

// decide is decideResize of a pod; inputs holds what is the same for all pods of a workload.
func (r *resizer) decide(now time.Time, p *resizePod, inputs map[profile.Workload]resizeInput) ([]byte, verdict) {
	in, there := inputs[p.workload]
	if !there {
		in.scaled = r.scalers.scaling(p.workload)
		in.advice, in.known = r.config.Store.Advise(now, p.workload)
		inputs[p.workload] = in
	}
	in.peak = func(container string) float64 { return r.config.Store.Peak(p.uid, container) }
	return decideResize(now, p, in)
}

// look counts pods by their verdicts and returns those to change.
func (r *resizer) look(now time.Time) (due []types.NamespacedName) {
	counts, inputs := map[verdict]int{}, map[profile.Workload]resizeInput{}
	for _, name := range r.pods.names() {
		p, ok := r.pods.get(name)
		if !ok {
			continue
		}
		_, verdict := r.decide(now, &p, inputs)
		if counts[verdict]++; verdict == verdictChange {
			due = append(due, name)
		}
	}
	for _, verdict := range verdicts {
		r.metrics.resizable.WithLabelValues(string(verdict)).Set(float64(counts[verdict]))
	}
	return due
}

// act does nothing until the horizontal autoscalers have been listed.
func (r *resizer) act(ctx context.Context, w *writer, now time.Time) bool {
	if !r.scalers.all() || !r.pods.all() {
		return false
	}
	for {
		name, ok := r.agenda.next(now, func() []types.NamespacedName { return r.look(now) })
		if !ok {
			return false
		}
		p, there := r.pods.get(name)
		if !there {
			continue
		}
		patch, verdict := r.decide(now, &p, map[profile.Workload]resizeInput{})
		if verdict != verdictChange {
			continue
		}
		if err := r.write(ctx, w, name, patch); err != nil && !apierrors.IsConflict(err) {
			r.agenda.failed(now, name)
		}
		return true
	}
}

func (r *resizer) write(ctx context.Context, w *writer, name types.NamespacedName, patch []byte) error {
	return w.request(resizeKind, name, "patch", func() error {
		written := &corev1.Pod{}
		err := r.Controller.pods.Patch(types.StrategicMergePatchType).Namespace(name.Namespace).Resource("pods").Name(name.Name).SubResource("resize").
			Param("fieldManager", LeaseName).Body(patch).Do(ctx).Into(written)
		switch {
		case err == nil:
			r.pods.note(written)
		case apierrors.IsNotFound(err): // its deletion may have been seen before the answer to its last write
			r.pods.drop(name)
		}
		return err
	})
}

// scaling holds, for each resource, whether a horizontal autoscaler sets the number of pods by the
// share of their requests that is in use: other requests would be another number of pods.
type scaling [resources]bool

// or joins what two autoscalers do.
func (s scaling) or(o scaling) scaling { return scaling{s[cpu] || o[cpu], s[memory] || o[memory]} }

// String names the resources, as the reason of a condition.
func (s scaling) String() string {
	switch s {
	case scaling{true, true}:
		return "CPUAndMemory"
	case scaling{cpu: true}:
		return "CPU"
	case scaling{memory: true}:
		return "Memory"
	}
	return "None"
}

// scaledWorkload is a workload and what an autoscaler does to it.
type scaledWorkload struct {
	of profile.Workload
	by scaling
}

func scalingOf(h *autoscalingv2.HorizontalPodAutoscaler) (s scaledWorkload) {
	for i := range h.Spec.Metrics {
		var name corev1.ResourceName
		var target autoscalingv2.MetricTarget
		switch m := &h.Spec.Metrics[i]; {
		case m.Resource != nil:
			name, target = m.Resource.Name, m.Resource.Target
		case m.ContainerResource != nil:
			name, target = m.ContainerResource.Name, m.ContainerResource.Target
		}
		if target.Type == autoscalingv2.UtilizationMetricType {
			s.by = s.by.or(scaling{name == corev1.ResourceCPU, name == corev1.ResourceMemory})
		}
	}
	ref := h.Spec.ScaleTargetRef
	s.of = profiler.Target(h.Namespace, ref.Kind, ref.Name)
	return s
}

// scalers are the horizontal autoscalers. Safe for concurrent use.
type scalers struct {
	*index[scaledWorkload]
	client rest.Interface

	mu sync.Mutex
	// by is computed from all autoscalers when it is first asked for after a change.
	by map[profile.Workload]scaling
}

func newScalers(c *Controller) (*scalers, error) {
	client, err := typedClient(c.config.REST, "/apis", autoscalingv2.SchemeGroupVersion, autoscalingv2.AddToScheme)
	if err != nil {
		return nil, err
	}
	s := &scalers{client: client}
	s.index = &index[scaledWorkload]{read: func(object any) (made scaledWorkload, ok bool) {
		if h, is := object.(*autoscalingv2.HorizontalPodAutoscaler); is {
			made = scalingOf(h)
		}
		return made, made.by != scaling{}
	}, changed: func(before, after *scaledWorkload) {
		if before != nil && after != nil && *before == *after {
			return // a status, every fifteen seconds
		}
		s.mu.Lock()
		s.by = nil
		s.mu.Unlock()
		// Their profiles have a condition about it.
		for _, of := range []*scaledWorkload{before, after} {
			if of != nil {
				c.config.Store.Again(time.Now(), of.of)
			}
		}
	}}
	return s, nil
}

func (s *scalers) follow(ctx context.Context, c *Controller) {
	c.follow(ctx, listWatch(s.client, "horizontalpodautoscalers", ""), "horizontalpodautoscalers", &autoscalingv2.HorizontalPodAutoscaler{}, reflectorStore{sink: s.index})
}

// scaling returns by what a workload is scaled.
func (s *scalers) scaling(of profile.Workload) scaling {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[profile.Workload]scaling{}
		for _, name := range s.names() {
			if one, ok := s.get(name); ok {
				s.by[one.of] = s.by[one.of].or(one.by)
			}
		}
	}
	return s.by[of]
}
