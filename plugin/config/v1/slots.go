package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/plugin/config"
)

// SpazioSlotsArgs are the arguments of the plugin SpazioSlots; config.SpazioSlotsArgs
// says what each means. A plain value.
type SpazioSlotsArgs struct {
	metav1.TypeMeta `json:",inline"`

	Swap string `json:"swap,omitempty"`
}

// SetSlotsDefaults sets the empty fields to their defaults.
func SetSlotsDefaults(a *SpazioSlotsArgs) {
	meta := a.TypeMeta
	*a = SlotsFromInternal(SlotsToInternal(*a).WithDefaults())
	a.TypeMeta = meta
}

// SlotsToInternal converts a. Version and kind are the scheme's to set.
func SlotsToInternal(a SpazioSlotsArgs) config.SpazioSlotsArgs {
	out := config.SpazioSlotsArgs(a)
	out.TypeMeta = metav1.TypeMeta{}
	return out
}

// SlotsFromInternal converts a. Version and kind are the scheme's to set.
func SlotsFromInternal(a config.SpazioSlotsArgs) SpazioSlotsArgs {
	out := SpazioSlotsArgs(a)
	out.TypeMeta = metav1.TypeMeta{}
	return out
}

// DeepCopyObject implements runtime.Object.
func (a *SpazioSlotsArgs) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	out := *a
	return &out
}
