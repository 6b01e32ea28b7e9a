package plugin

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/spazio-scheduler/spazio/plugin/config"
	configv1 "github.com/spazio-scheduler/spazio/plugin/config/v1"
)

// SpazioArgs are the plugin's arguments.
type SpazioArgs = config.SpazioArgs

// FieldError is an argument with a value that is not allowed.
type FieldError = config.FieldError

// ErrInvalid is what a FieldError wraps.
var ErrInvalid = config.ErrInvalid

// AddToScheme registers SpazioArgs, internal and v1, with their defaults and
// conversions. It is for a scheduler that wants the arguments decoded together
// with its configuration; without it the plugin decodes them itself.
func AddToScheme(s *runtime.Scheme) error {
	return errors.Join(config.AddToScheme(s), configv1.AddToScheme(s))
}

// DecodeArgs returns the arguments given to a plugin factory: nil (all
// defaults), a *SpazioArgs, internal or v1, or the *runtime.Unknown in which the
// scheduler hands over what its scheme does not know. Unknown and repeated
// fields are errors. Defaults are not filled in.
func DecodeArgs(obj runtime.Object) (SpazioArgs, error) {
	switch o := obj.(type) {
	case nil:
		return SpazioArgs{}, nil
	case *SpazioArgs:
		if o == nil {
			return SpazioArgs{}, nil
		}
		return *o, nil
	case *configv1.SpazioArgs:
		if o == nil {
			return SpazioArgs{}, nil
		}
		return configv1.ToInternal(*o), nil
	case *runtime.Unknown:
		return decodeRaw(o)
	}
	return SpazioArgs{}, wrongKind(fmt.Sprintf("%T", obj))
}

// strict decodes v1 alone: what else a cluster's scheme knows is no argument.
var strict = sync.OnceValues(func() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	if err := configv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), nil
})

func decodeRaw(u *runtime.Unknown) (SpazioArgs, error) {
	if u == nil || len(u.Raw) == 0 {
		return SpazioArgs{}, nil
	}
	decoder, err := strict()
	if err != nil {
		return SpazioArgs{}, err
	}
	kind := configv1.SchemeGroupVersion.WithKind(config.Kind)
	obj, got, err := decoder.Decode(u.Raw, &kind, nil)
	if err != nil {
		return SpazioArgs{}, &FieldError{Field: config.Kind, Value: string(u.Raw), Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
	}
	args, ok := obj.(*configv1.SpazioArgs)
	if !ok {
		return SpazioArgs{}, wrongKind(got.String())
	}
	return configv1.ToInternal(*args), nil
}

func wrongKind(kind string) error {
	return &FieldError{Field: "args", Value: kind, Err: fmt.Errorf("%w: must be %s", ErrInvalid, config.Kind)}
}
