package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spazio-scheduler/spazio/plugin/config"
)

// SchemeGroupVersion is the version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: config.GroupName, Version: "v1"}

// AddToScheme registers SpazioArgs, its defaults and its conversions.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &SpazioArgs{})
	s.AddTypeDefaultingFunc(&SpazioArgs{}, func(obj any) { SetDefaults(obj.(*SpazioArgs)) })
	err := s.AddGeneratedConversionFunc((*SpazioArgs)(nil), (*config.SpazioArgs)(nil), func(a, b any, _ conversion.Scope) error {
		*b.(*config.SpazioArgs) = ToInternal(*a.(*SpazioArgs))
		return nil
	})
	if err != nil {
		return err
	}
	return s.AddGeneratedConversionFunc((*config.SpazioArgs)(nil), (*SpazioArgs)(nil), func(a, b any, _ conversion.Scope) error {
		*b.(*SpazioArgs) = FromInternal(*a.(*config.SpazioArgs))
		return nil
	})
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
