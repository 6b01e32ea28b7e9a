package v1

import (
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// SpazioArgs are the plugin's arguments; config.SpazioArgs says what each means.
// A plain value.
type SpazioArgs struct {
	metav1.TypeMeta `json:",inline"`

	Listen          string `json:"listen,omitempty"`
	Insecure        bool   `json:"insecure,omitempty"`
	TLSCertFile     string `json:"tlsCertFile,omitempty"`
	TLSKeyFile      string `json:"tlsKeyFile,omitempty"`
	TLSClientCAFile string `json:"tlsClientCAFile,omitempty"`

	AgentServiceAccount string `json:"agentServiceAccount,omitempty"`
	TokenAudience       string `json:"tokenAudience,omitempty"`

	ControllerServiceAccount string `json:"controllerServiceAccount,omitempty"`

	ReviewKubeconfig string `json:"reviewKubeconfig,omitempty"`

	MaxAge       metav1.Duration `json:"maxAge,omitzero"`
	StartupGrace metav1.Duration `json:"startupGrace,omitzero"`
	StalePolicy  string          `json:"stalePolicy,omitempty"`
	MinFreePods  float64         `json:"minFreePods,omitempty"`
	RetryPeriod  metav1.Duration `json:"retryPeriod,omitzero"`
	AssumedTTL   metav1.Duration `json:"assumedTTL,omitzero"`

	MaxWait *metav1.Duration `json:"maxWait,omitempty"`

	IdleTimeout     metav1.Duration `json:"idleTimeout,omitzero"`
	SignalLostAfter metav1.Duration `json:"signalLostAfter,omitzero"`
	MaxReportRate   float64         `json:"maxReportRate,omitempty"`
	ReportBurst     int32           `json:"reportBurst,omitempty"`

	MaxConnections     int32 `json:"maxConnections,omitempty"`
	MaxUnauthenticated int32 `json:"maxUnauthenticated,omitempty"`

	CapacityWeight     float64         `json:"capacityWeight,omitempty"`
	TieTolerance       float64         `json:"tieTolerance,omitempty"`
	EnergyWeight       float64         `json:"energyWeight,omitempty"`
	EnergyObjective    string          `json:"energyObjective,omitempty"`
	IdleNodesPowerDown bool            `json:"idleNodesPowerDown,omitempty"`
	ScoreOnly          bool            `json:"scoreOnly,omitempty"`
	Profiles           string          `json:"profiles,omitempty"`
	ProfileHalfLife    metav1.Duration `json:"profileHalfLife,omitzero"`
	CPUDemandPerCore   float64         `json:"cpuDemandPerCore,omitempty"`
	OptOutAnnotation   string          `json:"optOutAnnotation,omitempty"`
	OptOutToleration   string          `json:"optOutToleration,omitempty"`
}

// DeepCopyInto writes a copy to out.
func (a *SpazioArgs) DeepCopyInto(out *SpazioArgs) {
	(*config.SpazioArgs)(a).DeepCopyInto((*config.SpazioArgs)(out))
}

// DeepCopy returns a copy; nil stays nil.
func (a *SpazioArgs) DeepCopy() *SpazioArgs {
	return (*SpazioArgs)((*config.SpazioArgs)(a).DeepCopy())
}

// DeepCopyObject implements runtime.Object.
func (a *SpazioArgs) DeepCopyObject() runtime.Object {
	if c := a.DeepCopy(); c != nil {
		return c
	}
	return nil
}

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
		return nil, wrongKind(got.String(), kind)
	}
	return obj, nil
}

func wrongKind(got, kind string) error {
	return &field.Error{Package: "plugin", Field: "args", Value: got, Err: fmt.Errorf("%w: must be %s", config.ErrInvalid, kind)}
}

// Args returns the arguments given to a plugin factory: nil (all defaults), a pointer to the internal
// or external type, or the *runtime.Unknown in which the scheduler hands over what its scheme does not
// know. Defaults are not filled in.
func Args[External, Internal any](obj runtime.Object, kind string, internal func(External) Internal) (args Internal, err error) {
	if u, isRaw := obj.(*runtime.Unknown); isRaw {
		if obj, err = Decode(u, kind); err != nil {
			return args, err
		}
	}
	switch o := any(obj).(type) {
	case nil:
		return args, nil
	case *Internal:
		if o != nil {
			args = *o
		}
		return args, nil
	case *External:
		if o != nil {
			args = internal(*o)
		}
		return args, nil
	}
	return args, wrongKind(fmt.Sprintf("%T", obj), kind)
}

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
