package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// vpaResource is that of the Vertical Pod Autoscaler's objects.
//
// The types are what a recommender reads and writes of VPA 1.7.0's objects
// (k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1). Its module would
// bring newer versions of half of what this one is built from; tools/compat/vpa decodes with that
// module what these types write.
var vpaResource = schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}

// vpaObject is a VerticalPodAutoscaler.
type vpaObject struct {
	Namespace, Name string
	Generation      int64
	Spec            vpaSpec
	Status          vpaStatus
}

type vpaSpec struct {
	TargetRef *struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"targetRef"`
	ResourcePolicy *struct {
		ContainerPolicies []vpaPolicy `json:"containerPolicies"`
	} `json:"resourcePolicy"`
	Recommenders []struct {
		Name string `json:"name"`
	} `json:"recommenders"`
}

// vpaPolicy is of one container, or of all others by the name "*".
type vpaPolicy struct {
	ContainerName       string                 `json:"containerName"`
	Mode                *string                `json:"mode"`
	MinAllowed          corev1.ResourceList    `json:"minAllowed"`
	MaxAllowed          corev1.ResourceList    `json:"maxAllowed"`
	ControlledResources *[]corev1.ResourceName `json:"controlledResources"`
}

type vpaStatus struct {
	Recommendation     *vpaRecommendation `json:"recommendation,omitempty"`
	Conditions         []vpaCondition     `json:"conditions,omitempty"`
	ObservedGeneration *int64             `json:"observedGeneration,omitempty"`
}

type vpaRecommendation struct {
	ContainerRecommendations []vpaContainer `json:"containerRecommendations,omitempty"`
}

type vpaContainer struct {
	ContainerName  string              `json:"containerName,omitempty"`
	Target         corev1.ResourceList `json:"target"`
	LowerBound     corev1.ResourceList `json:"lowerBound,omitempty"`
	UpperBound     corev1.ResourceList `json:"upperBound,omitempty"`
	UncappedTarget corev1.ResourceList `json:"uncappedTarget,omitempty"`
}

type vpaCondition struct {
	Type               string                 `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty"`
}

// The types of conditions that are written.
const (
	vpaProvided      = "RecommendationProvided"
	vpaLowConfidence = "LowConfidence"
	vpaUnsupported   = "ConfigUnsupported"
)

// decodeVPA reads an object as a dynamic client has it.
func decodeVPA(content map[string]any) (vpaObject, error) {
	var o struct {
		Metadata struct {
			Namespace, Name string
			Generation      int64
		}
		Spec   vpaSpec
		Status vpaStatus
	}
	text, err := json.Marshal(content)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	m := o.Metadata
	if err == nil && (m.Namespace == "" || m.Name == "") {
		err = errors.New("an object has a namespace and a name")
	}
	if err != nil {
		return vpaObject{}, &field.Error{Package: "vpa", Field: "object", Value: m.Namespace + "/" + m.Name, Err: fmt.Errorf("%w: %w", profiler.ErrInvalid, err)}
	}
	return vpaObject{m.Namespace, m.Name, m.Generation, o.Spec, o.Status}, nil
}

// asks reports whether the object asks a recommender of that name.
func (o *vpaObject) asks(name string) bool {
	for _, r := range o.Spec.Recommenders {
		if r.Name == name {
			return true
		}
	}
	return false
}

// workload returns the workload of the object's pods; not ok if the object names no owner.
func (o *vpaObject) workload() (w profile.Workload, ok bool) {
	ref := o.Spec.TargetRef
	if ref == nil || ref.Kind == "" || ref.Name == "" {
		return w, false
	}
	return profiler.Target(o.Namespace, ref.Kind, ref.Name), true
}

// equalVPA reports whether an object has the status it should have. A definition that knows no
// generations in a status drops them: they make no difference then.
func equalVPA(next, is vpaStatus) bool {
	if is.ObservedGeneration == nil {
		next.ObservedGeneration = nil
	}
	next.Conditions = slices.Clone(next.Conditions)
	for i := range next.Conditions {
		if i < len(is.Conditions) && is.Conditions[i].ObservedGeneration == 0 {
			next.Conditions[i].ObservedGeneration = 0
		}
	}
	return equality.Semantic.DeepEqual(next, is)
}

// next returns the status that the object should have at a time, by the advice for its workload.
// While nothing is known, as after a restart, an earlier recommendation stays.
func (o *vpaObject) next(at time.Time, a profiler.Advice, known bool) vpaStatus {
	generation := o.Generation
	next := vpaStatus{Recommendation: o.Status.Recommendation, ObservedGeneration: &generation}
	if known {
		next.Recommendation = o.recommend(a.Recommendations)
	}
	_, supported := o.workload()
	if !supported {
		next.Recommendation = nil
	}
	next.Conditions = slices.Clone(o.Status.Conditions)
	condition := vpaCondition{
		Type: vpaProvided, Status: corev1.ConditionFalse, Reason: "NothingMeasured",
		Message: "no container of a pod of the target was measured, or their policies are all Off",
	}
	if r := next.Recommendation; r != nil && len(r.ContainerRecommendations) > 0 {
		condition = vpaCondition{Type: vpaProvided, Status: corev1.ConditionTrue}
	}
	next.set(at, o.Generation, true, condition)
	confidence := min(a.Demand.CPU.Confidence, a.Demand.Memory.Confidence)
	next.set(at, o.Generation, known && confidence < enoughConfidence,
		vpaCondition{Type: vpaLowConfidence, Status: corev1.ConditionTrue, Reason: "FewPods", Message: "few pods were measured"})
	next.set(at, o.Generation, !supported,
		vpaCondition{Type: vpaUnsupported, Status: corev1.ConditionTrue, Reason: "NoTarget", Message: "spec.targetRef names no owner of pods"})
	return next
}

// set sets a condition, or removes one of its type that is not to be there.
func (s *vpaStatus) set(at time.Time, generation int64, there bool, c vpaCondition) {
	i := slices.IndexFunc(s.Conditions, func(old vpaCondition) bool { return old.Type == c.Type })
	c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(at.Truncate(time.Second))
	switch {
	case !there && i >= 0:
		s.Conditions = slices.Delete(s.Conditions, i, i+1)
	case !there:
	case i < 0:
		s.Conditions = append(s.Conditions, c)
	default:
		if s.Conditions[i].Status == c.Status {
			c.LastTransitionTime = s.Conditions[i].LastTransitionTime
		}
		s.Conditions[i] = c
	}
}

// recommend returns recommendations within the containers' policies, nil without any.
func (o *vpaObject) recommend(all []profile.Recommendation) *vpaRecommendation {
	var made vpaRecommendation
	for _, r := range all {
		p := o.policy(r.Container)
		if r.Container == "" || p.Mode != nil && *p.Mode == "Off" {
			continue
		}
		c := vpaContainer{
			ContainerName: r.Container, Target: p.list(r.Target, true), UncappedTarget: p.list(r.Uncapped, false),
			LowerBound: p.list(r.LowerBound, true), UpperBound: p.list(r.UpperBound, true),
		}
		if len(c.Target) > 0 {
			made.ContainerRecommendations = append(made.ContainerRecommendations, c)
		}
	}
	if made.ContainerRecommendations == nil {
		return nil
	}
	return &made
}

// policy returns that of a container, the one of all others if it has none.
func (o *vpaObject) policy(container string) (p vpaPolicy) {
	if o.Spec.ResourcePolicy == nil {
		return p
	}
	for _, c := range o.Spec.ResourcePolicy.ContainerPolicies {
		switch c.ContainerName {
		case container:
			return c
		case "*":
			p = c
		}
	}
	return p
}

// list writes amounts, of the resources that the policy controls and that are known, within
// its bounds.
func (p *vpaPolicy) list(a profile.Amounts, capped bool) corev1.ResourceList {
	list := corev1.ResourceList{}
	add := func(name corev1.ResourceName, v float64, q resource.Quantity) {
		if v == 0 || p.ControlledResources != nil && !slices.Contains(*p.ControlledResources, name) {
			return
		}
		if least, ok := p.MinAllowed[name]; capped && ok && q.Cmp(least) < 0 {
			q = least
		}
		if most, ok := p.MaxAllowed[name]; capped && ok && q.Cmp(most) > 0 {
			q = most
		}
		list[name] = q
	}
	add(corev1.ResourceCPU, a.CPU, v1alpha1.Millicores(a.CPU))
	add(corev1.ResourceMemory, a.Memory, v1alpha1.Bytes(a.Memory))
	return list
}

const vpaKind = "vpa"

// autoscalers recommends for the Vertical Pod Autoscaler's objects that ask for it.
type autoscalers struct {
	*Controller
	client  dynamic.Interface
	objects *index[vpaObject]
	agenda  agenda
}

func newAutoscalers(c *Controller) (*autoscalers, error) {
	client, err := dynamic.NewForConfig(c.config.REST)
	if err != nil {
		return nil, err
	}
	a := &autoscalers{Controller: c, client: client}
	a.objects = &index[vpaObject]{read: a.read}
	return a, nil
}

// read returns an object that asks for our recommendation.
func (a *autoscalers) read(object any) (vpaObject, bool) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return vpaObject{}, false
	}
	o, err := decodeVPA(u.Object)
	if err != nil {
		a.complain("strange "+vpaKind, "an autoscaler's object is passed over", "object", u.GetNamespace()+"/"+u.GetName(), "error", err)
		return o, false
	}
	return o, o.asks(a.config.VPAName)
}

func (a *autoscalers) follow(ctx context.Context) {
	resource := a.client.Resource(vpaResource)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resource.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, o)
		},
	}
	a.Controller.follow(ctx, lw, vpaResource.Resource, &unstructured.Unstructured{}, reflectorStore{sink: a.objects})
}

// status returns the status that an object should have, and whether it has it.
func (a *autoscalers) status(now time.Time, o *vpaObject) (next vpaStatus, is bool) {
	var advice profiler.Advice
	of, known := o.workload()
	if known {
		advice, known = a.config.Store.Advise(now, of)
	}
	next = o.next(now, advice, known)
	return next, equalVPA(next, o.Status)
}

// look finds the objects whose status is not what it should be.
func (a *autoscalers) look(now time.Time) (due []types.NamespacedName) {
	for _, name := range a.objects.names() {
		o, ok := a.objects.get(name)
		if !ok {
			continue
		}
		if _, is := a.status(now, &o); !is {
			due = append(due, name)
		}
	}
	return due
}

func (a *autoscalers) act(ctx context.Context, w *writer, now time.Time) bool {
	for {
		name, ok := a.agenda.next(now, func() []types.NamespacedName { return a.look(now) })
		if !ok {
			return false
		}
		o, there := a.objects.get(name)
		if !there {
			continue
		}
		next, is := a.status(now, &o)
		if is {
			continue
		}
		if a.write(ctx, w, name, next) != nil {
			a.agenda.failed(now, name)
		}
		return true
	}
}

func (a *autoscalers) write(ctx context.Context, w *writer, name types.NamespacedName, next vpaStatus) error {
	// Null removes an earlier recommendation.
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"recommendation": next.Recommendation, "conditions": next.Conditions, "observedGeneration": next.ObservedGeneration,
	}})
	if err != nil {
		return err
	}
	return w.request(vpaKind, name, "patch", func() error {
		written, err := a.client.Resource(vpaResource).Namespace(name.Namespace).Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		switch {
		case err == nil:
			a.objects.note(written)
		case apierrors.IsNotFound(err): // its deletion may have been seen before the answer to its last write
			a.objects.drop(name)
		}
		return err
	})
}
