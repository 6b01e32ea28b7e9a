package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectReference is an object of this group, and which of those that had the name.
type ObjectReference struct {
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=63
	UID types.UID `json:"uid"`
}

// +kubebuilder:validation:XValidation:rule="has(self.selector) == (has(self.from) && self.from == 'Selector')",message="belongs to from: Selector",fieldPath=".selector"

// AllowedNamespaces are those whose Schedulings may use an object.
type AllowedNamespaces struct {
	// From is Same (the object's own namespace, the default), All or Selector.
	// +optional
	// +kubebuilder:default=Same
	From NamespacesFrom `json:"from,omitempty"`
	// Selector selects namespaces by their labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// +kubebuilder:validation:Enum=Same;All;Selector

// NamespacesFrom is a way to name namespaces.
type NamespacesFrom string

// Ways to name namespaces.
const (
	FromSame     NamespacesFrom = "Same"
	FromAll      NamespacesFrom = "All"
	FromSelector NamespacesFrom = "Selector"
)
