// Package vpa recommends for the objects of the Vertical Pod Autoscaler that name us as
// their recommender (spec.recommenders): Decode reads one, and Object.Next is the status
// that it should have. It is pure; package controller watches and writes.
//
// The types are what a recommender reads and writes of VPA 1.7.0's
// (k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1), which its
// module would bring along with newer versions of half of what everything here is built
// from; tools/compat/vpa decodes by that module what is written by these.
//
// Types that do not speak of concurrent use are plain values.
package vpa

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// Resource is that of the objects.
var Resource = schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}

// Object is a VerticalPodAutoscaler. It is a plain value, safe for concurrent reading.
type Object struct {
	Namespace, Name string
	Generation      int64
	Spec            Spec
	Status          Status
}

// Spec is what a recommender reads of an object's.
type Spec struct {
	TargetRef      *Target         `json:"targetRef"`
	ResourcePolicy *ResourcePolicy `json:"resourcePolicy"`
	Recommenders   []Recommender   `json:"recommenders"`
}

// Target is what owns the pods.
type Target struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Recommender names one.
type Recommender struct {
	Name string `json:"name"`
}

// ResourcePolicy bounds what is recommended.
type ResourcePolicy struct {
	ContainerPolicies []ContainerPolicy `json:"containerPolicies"`
}

// ContainerPolicy is of one container, or of all others by the name "*".
type ContainerPolicy struct {
	ContainerName       string                 `json:"containerName"`
	Mode                *string                `json:"mode"`
	MinAllowed          corev1.ResourceList    `json:"minAllowed"`
	MaxAllowed          corev1.ResourceList    `json:"maxAllowed"`
	ControlledResources *[]corev1.ResourceName `json:"controlledResources"`
}

// Status is what a recommender writes.
type Status struct {
	Recommendation     *Recommendation `json:"recommendation,omitempty"`
	Conditions         []Condition     `json:"conditions,omitempty"`
	ObservedGeneration *int64          `json:"observedGeneration,omitempty"`
}

// Recommendation is of a pod's containers.
type Recommendation struct {
	ContainerRecommendations []ContainerRecommendation `json:"containerRecommendations,omitempty"`
}

// ContainerRecommendation is of one.
type ContainerRecommendation struct {
	ContainerName  string              `json:"containerName,omitempty"`
	Target         corev1.ResourceList `json:"target"`
	LowerBound     corev1.ResourceList `json:"lowerBound,omitempty"`
	UpperBound     corev1.ResourceList `json:"upperBound,omitempty"`
	UncappedTarget corev1.ResourceList `json:"uncappedTarget,omitempty"`
}

// Condition is one of an object's.
type Condition struct {
	Type               string                 `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty"`
}

// The types of conditions that are written.
const (
	RecommendationProvided = "RecommendationProvided"
	LowConfidence          = "LowConfidence"
	ConfigUnsupported      = "ConfigUnsupported"
)

// ErrInvalid is what every field.Error wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// Decode reads an object as a dynamic client has it.
func Decode(content map[string]any) (Object, error) {
	var o struct {
		Metadata struct {
			Namespace, Name string
			Generation      int64
		}
		Spec   Spec
		Status Status
	}
	text, err := json.Marshal(content)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err == nil && (o.Metadata.Namespace == "" || o.Metadata.Name == "") {
		err = errors.New("an object has a namespace and a name")
	}
	if err != nil {
		return Object{}, &field.Error{Package: "vpa", Field: "object", Value: o.Metadata.Namespace + "/" + o.Metadata.Name, Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
	}
	return Object{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Generation: o.Metadata.Generation, Spec: o.Spec, Status: o.Status}, nil
}

// Asks reports whether the object asks a recommender of that name.
func (o *Object) Asks(name string) bool {
	for _, r := range o.Spec.Recommenders {
		if r.Name == name {
			return true
		}
	}
	return false
}

// Workload is that of the object's pods; not ok if it names no owner.
func (o *Object) Workload() (w profile.Workload, ok bool) {
	ref := o.Spec.TargetRef
	if ref == nil || ref.Kind == "" || ref.Name == "" {
		return w, false
	}
	return profiler.Target(o.Namespace, ref.Kind, ref.Name), true
}
