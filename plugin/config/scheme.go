package config

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/spazio-scheduler/spazio/field"
)

const (
	// group is the API group of the scheduler's own configuration. Plugin arguments without an
	// apiVersion are taken to be in it.
	group = "kubescheduler.config.k8s.io"
	// Kind is the plugin's name followed by "Args", the kind that the scheduler assumes for
	// arguments without one.
	Kind = "SpazioArgs"
	// SlotsKind is the name of the plugin SpazioSlots and "Args".
	SlotsKind = "SpazioSlotsArgs"
)

// A KubeSchedulerConfiguration is written in version v1, and a scheduler converts it to the internal
// version. Both have the same types, so converting them only sets their kind.
var (
	externalVersion = schema.GroupVersion{Group: group, Version: "v1"}
	internalVersion = schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal}
)

// AddToScheme registers the arguments of both plugins, internal and v1, and their defaults.
func AddToScheme(s *runtime.Scheme) error {
	// An encoder without a version of its own, as of nested objects, writes the one registered first.
	for _, version := range []schema.GroupVersion{externalVersion, internalVersion} {
		s.AddKnownTypes(version, &SpazioArgs{}, &SpazioSlotsArgs{})
	}
	s.AddTypeDefaultingFunc(&SpazioArgs{}, func(obj any) {
		a := obj.(*SpazioArgs)
		*a = a.WithDefaults()
	})
	s.AddTypeDefaultingFunc(&SpazioSlotsArgs{}, func(obj any) {
		a := obj.(*SpazioSlotsArgs)
		*a = a.WithDefaults()
	})
	return nil
}

// strict decodes only this package's kinds: the other kinds that a cluster's scheme knows are not
// arguments.
var strict = sync.OnceValue(func() runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(externalVersion, &SpazioArgs{}, &SpazioSlotsArgs{})
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
})

// Decode returns the arguments given to a plugin factory: nil (all defaults), a pointer to T, or the
// *runtime.Unknown in which the scheduler hands over what its scheme does not know, which are taken
// to be of T's kind unless they name another. Unknown and repeated fields are errors. Defaults are
// not filled in.
func Decode[T SpazioArgs | SpazioSlotsArgs](obj runtime.Object) (args T, err error) {
	kind := Kind
	if _, slots := any(args).(SpazioSlotsArgs); slots {
		kind = SlotsKind
	}
	if u, isRaw := obj.(*runtime.Unknown); isRaw {
		if obj, err = decode(u, kind); err != nil {
			return args, err
		}
	}
	switch o := any(obj).(type) {
	case nil:
		return args, nil
	case *T:
		if o != nil {
			args = *o
		}
		return args, nil
	}
	return args, wrongKind(fmt.Sprintf("%T", obj), kind)
}

// decode reads the arguments that a scheduler hands over undecoded; the result is nil if there are
// none. Version and kind are the scheme's to set, so the result has none.
func decode(u *runtime.Unknown, kind string) (runtime.Object, error) {
	if u == nil || len(u.Raw) == 0 {
		return nil, nil
	}
	assumed := externalVersion.WithKind(kind)
	obj, got, err := strict().Decode(u.Raw, &assumed, nil)
	if err != nil {
		return nil, &field.Error{Package: "plugin", Field: kind, Value: string(u.Raw), Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
	}
	if got.Kind != kind {
		return nil, wrongKind(got.String(), kind)
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj, nil
}

func wrongKind(got, kind string) error {
	return &field.Error{Package: "plugin", Field: "args", Value: got, Err: fmt.Errorf("%w: must be %s", ErrInvalid, kind)}
}
