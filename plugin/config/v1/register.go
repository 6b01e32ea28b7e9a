package v1

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spazio-scheduler/spazio/plugin/config"
)

// SchemeGroupVersion is the version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: config.GroupName, Version: "v1"}

// AddToScheme registers the arguments of both plugins, their defaults and their
// conversions.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &SpazioArgs{}, &SpazioSlotsArgs{})
	s.AddTypeDefaultingFunc(&SpazioArgs{}, func(obj any) { SetDefaults(obj.(*SpazioArgs)) })
	s.AddTypeDefaultingFunc(&SpazioSlotsArgs{}, func(obj any) { SetSlotsDefaults(obj.(*SpazioSlotsArgs)) })
	return errors.Join(
		addConversions(s, ToInternal, FromInternal),
		addConversions(s, SlotsToInternal, SlotsFromInternal),
	)
}

func addConversions[External, Internal any](s *runtime.Scheme, in func(External) Internal, out func(Internal) External) error {
	return errors.Join(
		s.AddGeneratedConversionFunc((*External)(nil), (*Internal)(nil), func(a, b any, _ conversion.Scope) error {
			*b.(*Internal) = in(*a.(*External))
			return nil
		}),
		s.AddGeneratedConversionFunc((*Internal)(nil), (*External)(nil), func(a, b any, _ conversion.Scope) error {
			*b.(*External) = out(*a.(*Internal))
			return nil
		}),
	)
}

// SetDefaults sets the empty fields to their defaults.
func SetDefaults(a *SpazioArgs) {
	meta := a.TypeMeta
	*a = FromInternal(ToInternal(*a).WithDefaults())
	a.TypeMeta = meta
}

// ToInternal converts a. Version and kind are the scheme's to set.
func ToInternal(a SpazioArgs) config.SpazioArgs {
	out := config.SpazioArgs(a)
	out.TypeMeta = metav1.TypeMeta{}
	return out
}

// FromInternal converts a. Version and kind are the scheme's to set.
func FromInternal(a config.SpazioArgs) SpazioArgs {
	out := SpazioArgs(a)
	out.TypeMeta = metav1.TypeMeta{}
	return out
}
