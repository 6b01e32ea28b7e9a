package config

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SlotsKind is the name of the plugin SpazioSlots and "Args".
const SlotsKind = "SpazioSlotsArgs"

// Ways to put a pod into its slot.
const (
	// SwapImmediate: the slot's placeholder is deleted without grace, then the pod is bound.
	SwapImmediate = "Immediate"
	// SwapGraceful: the placeholder has a second to end, and the pod is bound when it is gone:
	// for a kubelet that counts a removed pod's resources until its containers have ended.
	SwapGraceful = "Graceful"
)

// SpazioSlotsArgs are the arguments of the plugin SpazioSlots. The zero value of a
// field means its default. A plain value.
type SpazioSlotsArgs struct {
	metav1.TypeMeta

	// Swap is Immediate (default) or Graceful.
	Swap string
}

// WithDefaults returns a with its empty fields set.
func (a SpazioSlotsArgs) WithDefaults() SpazioSlotsArgs {
	if a.Swap == "" {
		a.Swap = SwapImmediate
	}
	return a
}

// Validate returns a *field.Error if a field is wrong.
func (a SpazioSlotsArgs) Validate() error {
	if swap := a.WithDefaults().Swap; swap != SwapImmediate && swap != SwapGraceful {
		return invalid("swap", a.Swap, "must be "+SwapImmediate+" or "+SwapGraceful)
	}
	return nil
}

// DeepCopyObject implements runtime.Object.
func (a *SpazioSlotsArgs) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	out := *a
	return &out
}
