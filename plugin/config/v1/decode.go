package v1

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// strict decodes only this package's kinds: the other kinds that a cluster's scheme knows are not
// arguments.
var strict = sync.OnceValues(func() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(), nil
})

// Decode reads the arguments that a scheduler hands over undecoded; the result is nil if there
// are none. They are taken to be of the given kind unless they name another. Unknown and repeated
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

// WrongKind returns the error for arguments of another kind than expected.
func WrongKind(got, kind string) error {
	return &field.Error{Package: "plugin", Field: "args", Value: got, Err: fmt.Errorf("%w: must be %s", config.ErrInvalid, kind)}
}
