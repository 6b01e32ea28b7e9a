package v1

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// strict decodes this package's kinds alone: what else a cluster's scheme knows is no
// argument.
var strict = sync.OnceValues(func() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), nil
})

// Decode reads the arguments that a scheduler hands over as they are written, nil if
// there are none. They are of the kind unless they name another. Unknown and repeated
// fields are errors.
func Decode(u *runtime.Unknown, kind string) (runtime.Object, error) {
	if u == nil || len(u.Raw) == 0 {
		return nil, nil
	}
	decoder, err := strict()
	if err != nil {
		return nil, err
	}
	assumed := SchemeGroupVersion.WithKind(kind)
	obj, got, err := decoder.Decode(u.Raw, &assumed, nil)
	if err != nil {
		return nil, &field.Error{Package: "plugin", Field: kind, Value: string(u.Raw), Err: fmt.Errorf("%w: %w", config.ErrInvalid, err)}
	}
	if got.Kind != kind {
		return nil, WrongKind(got.String(), kind)
	}
	return obj, nil
}

// WrongKind says that arguments are of another kind than they must be.
func WrongKind(got, kind string) error {
	return &field.Error{Package: "plugin", Field: "args", Value: got, Err: fmt.Errorf("%w: must be %s", config.ErrInvalid, kind)}
}
