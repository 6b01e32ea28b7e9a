package plugin

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/plugin/config"
	configv1 "github.com/spazio-scheduler/spazio/plugin/config/v1"
)

// SpazioArgs are the plugin's arguments.
type SpazioArgs = config.SpazioArgs

// ErrInvalid is what a *field.Error of this package wraps.
var ErrInvalid = config.ErrInvalid

// AddToScheme registers SpazioArgs and SpazioSlotsArgs, internal and v1, with their
// defaults and conversions. It is for a scheduler that wants the arguments decoded together
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
	return SpazioArgs{}, configv1.WrongKind(fmt.Sprintf("%T", obj), config.Kind)
}

func decodeRaw(u *runtime.Unknown) (SpazioArgs, error) {
	obj, err := configv1.Decode(u, config.Kind)
	if err != nil || obj == nil {
		return SpazioArgs{}, err
	}
	return DecodeArgs(obj)
}
