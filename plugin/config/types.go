package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin/silence"
	"github.com/spazio-scheduler/spazio/reserve"
)

// GroupName is that of the scheduler's own configuration: it is assumed for
// plugin arguments that carry no apiVersion.
const GroupName = "kubescheduler.config.k8s.io"

// Kind is the plugin's name and "Args", which the scheduler assumes for
// arguments without a kind.
const Kind = "SpazioArgs"

// SchemeGroupVersion is the internal version.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: runtime.APIVersionInternal}

// AddToScheme registers the internal arguments of both plugins.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &SpazioArgs{}, &SpazioSlotsArgs{})
	return nil
}

// SpazioArgs are the plugin's arguments. The zero value of a field means its
// default. The profiles of one scheduler share the signals and the ledger, so
// only KWeight, TieWidth, the four of energy and room, OptOutAnnotation and
// OptOutToleration may differ between them. A plain value.
type SpazioArgs struct {
	metav1.TypeMeta

	// Listen is the host:port on which agents publish; default 127.0.0.1:9690,
	// port 0 chooses one. Beyond loopback it needs TLS files and a way to know
	// the agents, TLSClientCAFile or AgentServiceAccount, or else Insecure.
	Listen string
	// Insecure allows plaintext beyond loopback.
	Insecure bool
	// TLSCertFile is the PEM file of the server's certificate and those that it is
	// signed by, TLSKeyFile that of its key; both or none.
	TLSCertFile, TLSKeyFile string
	// TLSClientCAFile is the PEM file of the authorities that sign the agents'
	// certificates, which are then demanded; empty asks for none.
	TLSClientCAFile string

	// AgentServiceAccount is the service account of the agents, as
	// namespace/name. If it is given, each stream must show a token of it for
	// TokenAudience that is bound to a pod, and may report on that pod's node
	// alone; the API server is asked (TokenReview) when a stream begins, unless the
	// token itself says that it is no such one, and a stream ends with its token.
	// It needs TLS. Empty (default) asks nobody: then whoever Listen lets in may
	// report on any node.
	AgentServiceAccount string
	// TokenAudience is the audience of the agents' tokens; default
	// spazio-scheduler. Other receivers have audiences of their own, so that none
	// can show an agent's token to another.
	TokenAudience string

	// ControllerServiceAccount is the service account of those who may read each node's
	// room (RoomService), as namespace/name: the controllers of test beds. They show a
	// token of it for TokenAudience, which need not be bound to a pod. It needs TLS.
	// Empty (default) lets nobody, or where no AgentServiceAccount is given anybody whom
	// Listen lets in.
	ControllerServiceAccount string

	// ReviewKubeconfig is the file of the client that asks about tokens; by default
	// it has the scheduler's identity. With an identity of its own, the API server
	// also shares its time out between the two.
	ReviewKubeconfig string

	// MaxAge is how long after its newest sample a report counts; default 5 s:
	// agents send a report or a heartbeat every 2.5 s.
	MaxAge metav1.Duration
	// StartupGrace is how long a node that has not yet reported is waited for
	// before StalePolicy applies to it, from the start of the scheduler or the
	// node's first appearance, and every silent node after a time in which the
	// scheduler did not run; default MaxAge. Without it a restarted scheduler would
	// place all pending pods before the first agent has reconnected.
	StartupGrace metav1.Duration
	// StalePolicy is Neutral (default), Reject or Allow; see reserve.StalePolicy.
	// Allow alone puts more pods on a silent node than slow start lets through.
	StalePolicy string
	// Epsilon is the room in pods that a node must have for any pod; default 1.
	Epsilon float64
	// RetryPeriod is how long a waiting pod goes without an attempt while some
	// node has room; default 30 s. It covers what waking may have missed.
	RetryPeriod metav1.Duration
	// AssumedTTL is how long a reserved pod's bind may take; default 15 min.
	AssumedTTL metav1.Duration

	// MaxWait is how long a pod waits that is refused for measured room alone:
	// after that a node without room takes it, if memory is not full there; see
	// reserve.OverdueAdmission. nil is the default, 10 min; 0 has pods wait for ever.
	MaxWait *metav1.Duration

	// IdleTimeout is how long a stream may go without a report before it is
	// closed; default three times MaxAge, when its node has long been stale.
	IdleTimeout metav1.Duration
	// SignalLostAfter is how long a node has to be silent until it is told so by an event;
	// default 5 min, or MaxAge if that is longer. There is at most one event of a node in
	// twice that time.
	SignalLostAfter metav1.Duration
	// MaxReportRate is the number of a node's reports that take effect in a
	// second; default 20, four times what an agent sends at its busiest. Of the
	// reports in excess the newest takes effect a little later.
	MaxReportRate float64
	// ReportBurst is how many may come at once; default 40, two seconds' worth.
	ReportBurst int32

	// MaxConnections bounds the connections to Listen; default 32,768: twice 15,000
	// nodes, and some.
	MaxConnections int32
	// MaxStrangers bounds the connections of one address over which no report was
	// accepted yet; default 128. Of all addresses there are 1,024.
	MaxStrangers int32

	// KWeight is the weight of k, the capacity in typical loads, in the score,
	// 0 (default) to 1.
	KWeight float64
	// TieWidth is the difference in free pods below which chance decides between
	// nodes; default 0.5.
	TieWidth float64
	// EnergyWeight is the weight of energy in the score, 0 (default) to 1; with KWeight
	// at most 1. Energy never decides whether a node takes a pod. A node whose power is
	// not known counts as an average one, and where none is known energy counts for
	// nothing.
	EnergyWeight float64
	// EnergyObjective says what makes a node good: Marginal (default), how little the
	// pod raises its power, or Remaining, how much power it has left to its maximum.
	EnergyObjective string
	// EmptyNodesSleep says that nodes without pods, but those of DaemonSets, are put to
	// sleep by somebody: Marginal then counts a node's idle power for its first pod.
	EmptyNodesSleep bool
	// IgnoreRoom leaves room out of what refuses a node: a pod is placed at once if the
	// other plugins let it, and room is for the score alone. With it nothing keeps nodes
	// from being overloaded.
	IgnoreRoom bool
	// Profiles says what becomes of WorkloadProfiles: Off, Observe (default) or On.
	// On counts a pod as what its workload's profile says it takes. Observe decides as
	// if there were none, and counts where it would be decided otherwise; see the
	// metric spazio_profile_observed_differences_total. Where the API server has no
	// such objects both are as Off.
	Profiles string
	// ProfileHalfLife is the age of a profile at which it is half believed; default
	// 24 h.
	ProfileHalfLife metav1.Duration
	// CPUFill is how many cores' worth of demand a core is filled to by pods whose
	// profiles are known, at most 2. The default, 0, goes by the cores of each node:
	// 1 + max(1.35, .65·√cores)/cores, 1.34 on 4 cores and 1.08 on 64.
	CPUFill float64
	// OptOutAnnotation names the annotation that, set to "true", exempts a pod
	// from the plugin; default spazio-scheduler.github.io/opt-out.
	OptOutAnnotation string
	// OptOutToleration is the key of a taint. A pod that tolerates it by name is
	// exempt from the plugin, whether or not a node has the taint; default
	// spazio-scheduler.github.io/opt-out.
	OptOutToleration string
}

// Defaults of SpazioArgs.
const (
	DefaultListen        = "127.0.0.1:9690"
	DefaultMaxAge        = reserve.DefaultMaxAge
	DefaultRetryPeriod   = 30 * time.Second
	DefaultMaxWait       = reserve.DefaultMaxWait
	DefaultAssumedTTL    = 15 * time.Minute
	DefaultMaxReportRate = 20
	DefaultReportBurst   = 40
	DefaultTokenAudience = "spazio-scheduler"
	DefaultOptOut        = "spazio-scheduler.github.io/opt-out"

	// EnergyMarginal and EnergyRemaining are the values of EnergyObjective.
	EnergyMarginal  = "Marginal"
	EnergyRemaining = "Remaining"

	// ProfilesOff, ProfilesObserve and ProfilesOn are the values of Profiles.
	ProfilesOff            = "Off"
	ProfilesObserve        = "Observe"
	ProfilesOn             = "On"
	DefaultProfileHalfLife = 24 * time.Hour

	defaultEpsilon  = 1
	defaultTieWidth = .5
	// idleAges is how many times MaxAge a stream may go without a report.
	idleAges = 3
)

// WithDefaults returns a copy with the empty fields set to their defaults.
func (a SpazioArgs) WithDefaults() SpazioArgs {
	setDefault(&a.Listen, DefaultListen)
	setDefault(&a.TokenAudience, DefaultTokenAudience)
	setDefault(&a.MaxAge.Duration, DefaultMaxAge)
	setDefault(&a.StartupGrace.Duration, a.MaxAge.Duration)
	setDefault(&a.StalePolicy, reserve.Neutral.String())
	setDefault(&a.Epsilon, defaultEpsilon)
	setDefault(&a.RetryPeriod.Duration, DefaultRetryPeriod)
	if a.MaxWait == nil {
		a.MaxWait = &metav1.Duration{Duration: DefaultMaxWait}
	}
	setDefault(&a.AssumedTTL.Duration, DefaultAssumedTTL)
	setDefault(&a.IdleTimeout.Duration, idleTimeout(a.MaxAge.Duration))
	setDefault(&a.SignalLostAfter.Duration, max(silence.DefaultAfter, a.MaxAge.Duration))
	setDefault(&a.MaxReportRate, DefaultMaxReportRate)
	setDefault(&a.ReportBurst, DefaultReportBurst)
	setDefault(&a.TieWidth, defaultTieWidth)
	setDefault(&a.EnergyObjective, EnergyMarginal)
	setDefault(&a.Profiles, ProfilesObserve)
	setDefault(&a.ProfileHalfLife.Duration, DefaultProfileHalfLife)
	setDefault(&a.OptOutAnnotation, DefaultOptOut)
	setDefault(&a.OptOutToleration, DefaultOptOut)
	return a
}

// idleTimeout does not overflow.
func idleTimeout(maxAge time.Duration) time.Duration {
	const most = time.Duration(1<<63-1) / idleAges
	return idleAges * min(maxAge, most)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Shared returns the fields that all profiles of a scheduler must agree on.
func (a SpazioArgs) Shared() SpazioArgs {
	a.TypeMeta = metav1.TypeMeta{}
	a.KWeight, a.TieWidth, a.OptOutAnnotation, a.OptOutToleration = 0, 0, "", ""
	a.EnergyWeight, a.EnergyObjective, a.EmptyNodesSleep, a.IgnoreRoom = 0, "", false, false
	return a
}

// Objective returns EnergyObjective; the error is a *field.Error.
func (a SpazioArgs) Objective() (energy.Objective, error) {
	switch a.EnergyObjective {
	case "", EnergyMarginal:
		return energy.Marginal, nil
	case EnergyRemaining:
		return energy.Remaining, nil
	}
	return 0, invalid("energyObjective", a.EnergyObjective, "must be Marginal or Remaining")
}

// Transport returns how the signal server proves who it is.
func (a SpazioArgs) Transport() transport.Config {
	return transport.Config{
		CertFile: a.TLSCertFile, KeyFile: a.TLSKeyFile, ClientCAFile: a.TLSClientCAFile, Insecure: a.Insecure,
		Tokens: a.AgentServiceAccount != "" && a.TLSClientCAFile == "", // with both, both are demanded
	}
}

// Limits are those of the signal server's callers. A report with the most pods
// it may list takes 60 KiB.
func (a SpazioArgs) Limits() transport.Limits {
	return transport.Limits{Connections: int(a.MaxConnections), Unauthenticated: int(a.MaxStrangers), Message: 128 << 10}
}

// OverdueAdmission returns the bound on the time that pods wait.
func (a SpazioArgs) OverdueAdmission() reserve.OverdueAdmission {
	if a.MaxWait == nil {
		return reserve.OverdueAdmission{}
	}
	return reserve.OverdueAdmission{MaxWait: a.MaxWait.Duration, Off: a.MaxWait.Duration == 0}
}

// DeepCopyInto writes a copy to out.
func (a *SpazioArgs) DeepCopyInto(out *SpazioArgs) {
	*out = *a
	if a.MaxWait != nil {
		out.MaxWait = &metav1.Duration{Duration: a.MaxWait.Duration}
	}
}

// DeepCopy returns a copy; nil stays nil.
func (a *SpazioArgs) DeepCopy() *SpazioArgs {
	if a == nil {
		return nil
	}
	out := new(SpazioArgs)
	a.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (a *SpazioArgs) DeepCopyObject() runtime.Object {
	if c := a.DeepCopy(); c != nil {
		return c
	}
	return nil
}
