package plugin

import (
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/reserve"
)

// SchemeGroupVersion is that of the scheduler's own configuration: there it is
// assumed for plugin arguments that carry no apiVersion of their own.
var SchemeGroupVersion = schema.GroupVersion{Group: "kubescheduler.config.k8s.io", Version: "v1"}

// ArgsKind is the kind of SpazioArgs: the plugin's name and "Args", which the
// scheduler assumes for arguments without a kind.
const ArgsKind = Name + "Args"

// AddToScheme registers SpazioArgs.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(SchemeGroupVersion.WithKind(ArgsKind), &SpazioArgs{})
	return nil
}

// SpazioArgs are the plugin's arguments in a KubeSchedulerConfiguration. A
// field left out has its default. The profiles of one scheduler share a Hub, so
// only kWeight, tieWidth and optOutAnnotation may differ between them.
type SpazioArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Listen is the host:port on which agents publish; default 127.0.0.1:9690,
	// port 0 chooses one. Beyond loopback it needs TLS files or Insecure.
	Listen string `json:"listen,omitempty"`
	// Insecure allows plaintext beyond loopback.
	Insecure bool `json:"insecure,omitempty"`
	// TLSCertFile and TLSKeyFile are the server's PEM files, TLSClientCAFile
	// holds the CAs that sign the agents' certificates.
	TLSCertFile     string `json:"tlsCertFile,omitempty"`
	TLSKeyFile      string `json:"tlsKeyFile,omitempty"`
	TLSClientCAFile string `json:"tlsClientCAFile,omitempty"`

	// MaxAge is how long after its arrival a report counts; default 5s: agents
	// report at least once a second.
	MaxAge metav1.Duration `json:"maxAge,omitempty"`
	// StartupGrace is how long a node that has not yet reported is waited for
	// before StalePolicy applies to it, from the start of the scheduler or the
	// node's first appearance; default MaxAge. Without it a restarted scheduler
	// would place all pending pods before the first agent has reconnected.
	StartupGrace metav1.Duration `json:"startupGrace,omitempty"`
	// StalePolicy is Neutral (default), Reject or Allow; see reserve.StalePolicy.
	StalePolicy string `json:"stalePolicy,omitempty"`
	// Epsilon is the room in pods that a node must have for any pod; default 1.
	Epsilon float64 `json:"epsilon,omitempty"`
	// RetryPeriod is how long a waiting pod goes without an attempt while some
	// node has room; default 30s. It covers what waking may have missed.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty"`
	// AssumedTTL is how long a reserved pod's bind may take; default 15m.
	AssumedTTL metav1.Duration `json:"assumedTTL,omitempty"`

	// KWeight is the weight of k, the capacity in typical loads, in the score,
	// 0 (default) to 1.
	KWeight float64 `json:"kWeight,omitempty"`
	// TieWidth is the difference in free pods below which chance decides between
	// nodes; default 0.5.
	TieWidth float64 `json:"tieWidth,omitempty"`
	// OptOutAnnotation names the annotation that, set to "true", exempts a pod
	// from the plugin; default spazio-scheduler.github.io/opt-out.
	OptOutAnnotation string `json:"optOutAnnotation,omitempty"`
}

// Defaults of SpazioArgs.
const (
	DefaultListen           = "127.0.0.1:9690"
	DefaultMaxAge           = 5 * time.Second
	DefaultRetryPeriod      = 30 * time.Second
	DefaultOptOutAnnotation = "spazio-scheduler.github.io/opt-out"
	defaultEpsilon          = 1
	defaultTieWidth         = .5
	defaultAssumedTTL       = 15 * time.Minute
)

// WithDefaults returns a copy with the empty fields set to their defaults.
func (a SpazioArgs) WithDefaults() SpazioArgs {
	setDefault(&a.Listen, DefaultListen)
	setDefault(&a.MaxAge.Duration, DefaultMaxAge)
	setDefault(&a.StartupGrace.Duration, a.MaxAge.Duration)
	setDefault(&a.StalePolicy, reserve.Neutral.String())
	setDefault(&a.Epsilon, defaultEpsilon)
	setDefault(&a.RetryPeriod.Duration, DefaultRetryPeriod)
	setDefault(&a.AssumedTTL.Duration, defaultAssumedTTL)
	setDefault(&a.TieWidth, defaultTieWidth)
	setDefault(&a.OptOutAnnotation, DefaultOptOutAnnotation)
	return a
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate returns all errors of a, as one aggregate of *field.Error whose
// paths start at path (nil for the root).
func (a SpazioArgs) Validate(path *field.Path) error {
	a = a.WithDefaults()
	var errs field.ErrorList
	if _, err := reserve.ParseStalePolicy(a.StalePolicy); err != nil {
		errs = append(errs, field.NotSupported(path.Child("stalePolicy"), a.StalePolicy,
			[]string{reserve.Neutral.String(), reserve.Reject.String(), reserve.Allow.String()}))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"maxAge", a.MaxAge.Duration}, {"startupGrace", a.StartupGrace.Duration},
		{"retryPeriod", a.RetryPeriod.Duration}, {"assumedTTL", a.AssumedTTL.Duration}} {
		if d.value < 0 {
			errs = append(errs, field.Invalid(path.Child(d.name), d.value.String(), "must not be negative"))
		}
	}
	for _, f := range []struct {
		name  string
		value float64
		most  float64
	}{{"epsilon", a.Epsilon, math.MaxFloat64}, {"kWeight", a.KWeight, 1}, {"tieWidth", a.TieWidth, math.MaxFloat64}} {
		if !(f.value >= 0 && f.value <= f.most) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "must be a number between 0 and "+fmt.Sprint(f.most)))
		}
	}
	for _, problem := range validation.IsQualifiedName(a.OptOutAnnotation) {
		errs = append(errs, field.Invalid(path.Child("optOutAnnotation"), a.OptOutAnnotation, problem))
	}
	if err := a.transport().Validate(); err != nil {
		errs = append(errs, field.Invalid(path.Child("listen"), a.Listen, err.Error()))
	}
	return errs.ToAggregate()
}

func (a SpazioArgs) transport() transport.Config {
	return transport.Config{CertFile: a.TLSCertFile, KeyFile: a.TLSKeyFile, CAFile: a.TLSClientCAFile, Insecure: a.Insecure}
}

// shared returns the fields that all profiles of a Hub must agree on.
func (a SpazioArgs) shared() SpazioArgs {
	a.TypeMeta = metav1.TypeMeta{}
	a.KWeight, a.TieWidth, a.OptOutAnnotation = 0, 0, ""
	return a
}

// DeepCopyObject implements runtime.Object.
func (a *SpazioArgs) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	out := *a
	return &out
}

// DecodeArgs returns the arguments given to a plugin factory: nil (all
// defaults), a *SpazioArgs, or the *runtime.Unknown in which the scheduler
// hands over what its scheme does not know. Unknown and repeated fields are
// errors.
func DecodeArgs(obj runtime.Object) (SpazioArgs, error) {
	switch o := obj.(type) {
	case nil:
		return SpazioArgs{}, nil
	case *SpazioArgs:
		if o == nil {
			return SpazioArgs{}, nil
		}
		return *o, nil
	case *runtime.Unknown:
		return decodeRaw(o)
	}
	return SpazioArgs{}, fmt.Errorf("plugin: arguments of type %T, want %s", obj, ArgsKind)
}

func decodeRaw(u *runtime.Unknown) (SpazioArgs, error) {
	if u == nil || len(u.Raw) == 0 {
		return SpazioArgs{}, nil
	}
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return SpazioArgs{}, fmt.Errorf("plugin: %w", err)
	}
	kind := SchemeGroupVersion.WithKind(ArgsKind)
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	obj, got, err := decoder.Decode(u.Raw, &kind, nil)
	if err != nil {
		return SpazioArgs{}, fmt.Errorf("plugin: decode %s: %w", ArgsKind, err)
	}
	args, ok := obj.(*SpazioArgs)
	if !ok {
		return SpazioArgs{}, fmt.Errorf("plugin: arguments of kind %v, want %v", got, kind)
	}
	return *args, nil
}
