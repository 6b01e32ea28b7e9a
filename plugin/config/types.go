package config

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
)

// SpazioArgs holds the plugin's arguments. A field's zero value means its default. The profiles
// of one scheduler share the signals and the ledger, so only CapacityWeight, TieTolerance, EnergyWeight,
// EnergyObjective, IdleNodesPowerDown, ScoreOnly, OptOutAnnotation and OptOutToleration may differ
// between them. A plain value.
type SpazioArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Listen is the host:port on which agents publish; default 127.0.0.1:9690, and port 0 chooses
	// a free one. Beyond loopback it needs TLS files and a way to identify the agents,
	// TLSClientCAFile or AgentServiceAccount, or else Insecure.
	Listen string `json:"listen,omitempty"`
	// Insecure allows plaintext beyond loopback.
	Insecure bool `json:"insecure,omitempty"`
	// TLSCertFile is the PEM file of the server's certificate and the certificates that sign it. It
	// needs TLSKeyFile; set both or none.
	TLSCertFile string `json:"tlsCertFile,omitempty"`
	// TLSKeyFile is the PEM file of the key of TLSCertFile; set both or none.
	TLSKeyFile string `json:"tlsKeyFile,omitempty"`
	// TLSClientCAFile is the PEM file of the authorities that sign the agents' certificates. If
	// it is set, agents must present one; if it is empty, none is requested.
	TLSClientCAFile string `json:"tlsClientCAFile,omitempty"`

	// AgentServiceAccount is the service account of the agents, as namespace/name. If it is set,
	// each stream must present a token of that account for TokenAudience, bound to a pod, and may
	// report only on that pod's node. The API server reviews the token (TokenReview) when a
	// stream begins, unless the token's own claims already rule it out, and a stream ends when
	// its token does. It needs TLS. If it is empty (default), no token is required, and every
	// caller that Listen accepts may report on any node.
	AgentServiceAccount string `json:"agentServiceAccount,omitempty"`
	// TokenAudience is the audience of the agents' tokens; default spazio-scheduler. Other
	// receivers have audiences of their own, so that none of them can present an agent's token to
	// another.
	TokenAudience string `json:"tokenAudience,omitempty"`

	// ControllerServiceAccount is the service account that may read each node's room
	// (RoomService), as namespace/name; the controllers of test beds use it. They present a token
	// of it for TokenAudience, which need not be bound to a pod. It needs TLS. If it is empty
	// (default), no caller may read the room, or, without AgentServiceAccount, every caller that
	// Listen accepts may.
	ControllerServiceAccount string `json:"controllerServiceAccount,omitempty"`

	// ReviewKubeconfig is the kubeconfig file of the client that reviews tokens; by default that
	// client has the scheduler's identity. With an identity of its own, the API server also
	// divides its time between the two clients.
	ReviewKubeconfig string `json:"reviewKubeconfig,omitempty"`

	// MaxAge is how long a report counts after its newest sample; default 5 s. Agents send a
	// report or a heartbeat every 2.5 s.
	MaxAge metav1.Duration `json:"maxAge,omitzero"`
	// StartupGrace is how long the scheduler waits for a node that has not yet reported before
	// StalePolicy applies to it, from the scheduler's start or the node's first appearance. After
	// a time in which the scheduler did not run, every silent node gets the same grace. Default
	// MaxAge. Without it, a restarted scheduler would place all pending pods before the first
	// agent has reconnected.
	StartupGrace metav1.Duration `json:"startupGrace,omitzero"`
	// StalePolicy is Neutral (default), Reject or Allow; see reserve.StalePolicy. Only Allow puts
	// more pods on a silent node than slow start admits.
	StalePolicy string `json:"stalePolicy,omitempty"`
	// MinFreePods is the room, in pods, that a node must have to take any pod; default 1.
	MinFreePods float64 `json:"minFreePods,omitempty"`
	// RetryPeriod is how long a waiting pod goes without an attempt while some node has room;
	// default 30 s. The retry makes up for wake-ups that may have been missed.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitzero"`
	// AssumedTTL is how long the bind of a reserved pod may take; default 15 min.
	AssumedTTL metav1.Duration `json:"assumedTTL,omitzero"`

	// MaxWait is how long a pod waits that is refused only because of measured room. After that,
	// a node without room takes it if memory is not full there; see reserve.OverdueAdmission. nil
	// is the default, 10 min; with 0, pods wait forever.
	MaxWait *metav1.Duration `json:"maxWait,omitempty"`

	// IdleTimeout is how long a stream may go without a report before it is closed; default three
	// times MaxAge, by which time its node has long been stale.
	IdleTimeout metav1.Duration `json:"idleTimeout,omitzero"`
	// SignalLostAfter is how long a node must be silent before an event is recorded on it;
	// default 5 min, or MaxAge if that is longer. A node gets at most one such event in twice
	// that time.
	SignalLostAfter metav1.Duration `json:"signalLostAfter,omitzero"`
	// MaxReportRate is how many of a node's reports take effect per second; default 20, four
	// times what an agent sends at its busiest. The newest of the excess reports takes effect a
	// little later.
	MaxReportRate float64 `json:"maxReportRate,omitempty"`
	// ReportBurst is how many of a node's reports may arrive at once; default 40, two seconds'
	// worth.
	ReportBurst int32 `json:"reportBurst,omitempty"`

	// MaxConnections bounds the connections to Listen; default 32,768, a little more than twice
	// 15,000 nodes.
	MaxConnections int32 `json:"maxConnections,omitempty"`
	// MaxUnauthenticated bounds the connections of one address over which no report has been accepted
	// yet; default 128. All addresses together may have 1,024.
	MaxUnauthenticated int32 `json:"maxUnauthenticated,omitempty"`

	// CapacityWeight is the weight of k, the capacity in typical loads, in the score, from 0 (default)
	// to 1.
	CapacityWeight float64 `json:"capacityWeight,omitempty"`
	// TieTolerance is the difference in free pods below which ties between nodes are broken at
	// random; default 0.5.
	TieTolerance float64 `json:"tieTolerance,omitempty"`
	// EnergyWeight is the weight of energy in the score, from 0 (default) to 1; the sum with
	// CapacityWeight is at most 1. Energy never decides whether a node takes a pod. A node of unknown
	// power counts as an average one, and if no node's power is known, energy has no effect.
	EnergyWeight float64 `json:"energyWeight,omitempty"`
	// EnergyObjective is what makes a node good: with Marginal (default), how little the pod
	// raises its power; with Remaining, how much power it has left to its maximum.
	EnergyObjective string `json:"energyObjective,omitempty"`
	// IdleNodesPowerDown states that nodes without pods, except those of DaemonSets, are put to
	// sleep by other software. Marginal then counts a node's idle power for its first pod.
	IdleNodesPowerDown bool `json:"idleNodesPowerDown,omitempty"`
	// ScoreOnly keeps room from refusing a node: a pod is placed at once if the other plugins
	// admit it, and room affects only the score. Nothing then keeps nodes from being overloaded.
	ScoreOnly bool `json:"scoreOnly,omitempty"`
	// Profiles is how WorkloadProfiles are used: Off, Observe or On (default). On counts a pod as
	// what its workload's profile states that it takes, and one without a profile as a typical pod.
	// Observe decides as if there were no profiles, and counts the decisions that profiles would
	// change; see the metric spazio_profile_observed_differences_total. If the API server has no
	// such objects, both behave as Off.
	Profiles string `json:"profiles,omitempty"`
	// ProfileHalfLife is the age at which a profile's confidence has halved; default 24 h.
	ProfileHalfLife metav1.Duration `json:"profileHalfLife,omitzero"`
	// CPUDemandPerCore is how many cores' worth of demand pods with known profiles may fill a core to, at
	// most 2. The default, 0, depends on the cores of each node:
	// 1 + max(1.35, 0.65·√cores)/cores, which is 1.34 on 4 cores and 1.08 on 64.
	CPUDemandPerCore float64 `json:"cpuDemandPerCore,omitempty"`
	// OptOutAnnotation names the annotation that exempts a pod from the plugin if it is set to
	// "true"; default spazio-scheduler.github.io/opt-out.
	OptOutAnnotation string `json:"optOutAnnotation,omitempty"`
	// OptOutToleration is the key of a taint. A pod that tolerates it by name is exempt from the
	// plugin, whether or not a node has the taint; default spazio-scheduler.github.io/opt-out.
	OptOutToleration string `json:"optOutToleration,omitempty"`
}

// Defaults of SpazioArgs.
const (
	DefaultListen        = "127.0.0.1:9690"
	DefaultRetryPeriod   = 30 * time.Second
	defaultAssumedTTL    = 15 * time.Minute
	defaultMaxReportRate = 20
	defaultReportBurst   = 40
	defaultTokenAudience = "spazio-scheduler"
	// defaultSignalLostAfter is how long a node must be silent until an event announces it.
	defaultSignalLostAfter = 5 * time.Minute
	defaultOptOut          = "spazio-scheduler.github.io/opt-out"

	// energyMarginal and energyRemaining are the values of EnergyObjective.
	energyMarginal  = "Marginal"
	energyRemaining = "Remaining"

	// ProfilesOff, ProfilesObserve and ProfilesOn are the values of Profiles.
	ProfilesOff            = "Off"
	ProfilesObserve        = "Observe"
	ProfilesOn             = "On"
	defaultProfileHalfLife = 24 * time.Hour

	defaultMinFreePods  = 1
	defaultTieTolerance = .5
	// idleAges is how many times MaxAge a stream may go without a report.
	idleAges = 3
)

// WithDefaults returns a copy with the empty fields set to their defaults.
func (a SpazioArgs) WithDefaults() SpazioArgs {
	a.Listen = cmp.Or(a.Listen, DefaultListen)
	a.TokenAudience = cmp.Or(a.TokenAudience, defaultTokenAudience)
	a.MaxAge.Duration = cmp.Or(a.MaxAge.Duration, reserve.DefaultMaxAge)
	a.StartupGrace.Duration = cmp.Or(a.StartupGrace.Duration, a.MaxAge.Duration)
	a.StalePolicy = cmp.Or(a.StalePolicy, reserve.Neutral.String())
	a.MinFreePods = cmp.Or(a.MinFreePods, defaultMinFreePods)
	a.RetryPeriod.Duration = cmp.Or(a.RetryPeriod.Duration, DefaultRetryPeriod)
	if a.MaxWait == nil {
		a.MaxWait = &metav1.Duration{Duration: reserve.DefaultMaxWait}
	}
	a.AssumedTTL.Duration = cmp.Or(a.AssumedTTL.Duration, defaultAssumedTTL)
	a.IdleTimeout.Duration = cmp.Or(a.IdleTimeout.Duration, idleTimeout(a.MaxAge.Duration))
	a.SignalLostAfter.Duration = cmp.Or(a.SignalLostAfter.Duration, max(defaultSignalLostAfter, a.MaxAge.Duration))
	a.MaxReportRate = cmp.Or(a.MaxReportRate, defaultMaxReportRate)
	a.ReportBurst = cmp.Or(a.ReportBurst, defaultReportBurst)
	a.TieTolerance = cmp.Or(a.TieTolerance, defaultTieTolerance)
	a.EnergyObjective = cmp.Or(a.EnergyObjective, energyMarginal)
	a.Profiles = cmp.Or(a.Profiles, ProfilesOn)
	a.ProfileHalfLife.Duration = cmp.Or(a.ProfileHalfLife.Duration, defaultProfileHalfLife)
	a.OptOutAnnotation = cmp.Or(a.OptOutAnnotation, defaultOptOut)
	a.OptOutToleration = cmp.Or(a.OptOutToleration, defaultOptOut)
	return a
}

// idleTimeout returns idleAges times maxAge without overflowing.
func idleTimeout(maxAge time.Duration) time.Duration {
	const most = time.Duration(1<<63-1) / idleAges
	return idleAges * min(maxAge, most)
}

// Shared returns the fields that all profiles of a scheduler must agree on.
func (a SpazioArgs) Shared() SpazioArgs {
	a.TypeMeta = metav1.TypeMeta{}
	a.CapacityWeight, a.TieTolerance, a.OptOutAnnotation, a.OptOutToleration = 0, 0, "", ""
	a.EnergyWeight, a.EnergyObjective, a.IdleNodesPowerDown, a.ScoreOnly = 0, "", false, false
	return a
}

// Objective returns EnergyObjective; the error is a *field.Error.
func (a SpazioArgs) Objective() (energy.Objective, error) {
	switch a.EnergyObjective {
	case "", energyMarginal:
		return energy.Marginal, nil
	case energyRemaining:
		return energy.Remaining, nil
	}
	return 0, invalid("energyObjective", a.EnergyObjective, "must be Marginal or Remaining")
}

// Transport returns how the signal server authenticates itself and its callers.
func (a SpazioArgs) Transport() transport.Config {
	return transport.Config{
		CertFile: a.TLSCertFile, KeyFile: a.TLSKeyFile, ClientCAFile: a.TLSClientCAFile, Insecure: a.Insecure,
		Tokens: a.AgentServiceAccount != "" && a.TLSClientCAFile == "", // with both, both are demanded
	}
}

// Limits returns the limits of the signal server's callers. A report that lists as many pods as
// it may takes 60 KiB.
func (a SpazioArgs) Limits() transport.Limits {
	return transport.Limits{Connections: int(a.MaxConnections), Unauthenticated: int(a.MaxUnauthenticated), Message: 128 << 10}
}

// Rules returns the rules by which nodes have room.
func (a SpazioArgs) Rules() reserve.Rules {
	return reserve.Rules{MinFreePods: a.MinFreePods, CPUDemandPerCore: a.CPUDemandPerCore}.WithDefaults()
}

// OverdueAdmission returns the bound on the time that pods wait.
func (a SpazioArgs) OverdueAdmission() reserve.OverdueAdmission {
	if a.MaxWait == nil {
		return reserve.OverdueAdmission{}
	}
	return reserve.OverdueAdmission{MaxWait: a.MaxWait.Duration, Off: a.MaxWait.Duration == 0}
}

// DeepCopyObject implements runtime.Object.
func (a *SpazioArgs) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	out := *a
	if a.MaxWait != nil {
		out.MaxWait = &metav1.Duration{Duration: a.MaxWait.Duration}
	}
	return &out
}

// Ways to put a pod into its slot.
const (
	// SwapImmediate: the slot's placeholder is deleted without grace, then the pod is bound.
	SwapImmediate = "Immediate"
	// SwapGraceful: the placeholder has a second to end, and the pod is bound when it is gone:
	// for a kubelet that counts a removed pod's resources until its containers have ended.
	SwapGraceful = "Graceful"
)

// SpazioSlotsArgs are the arguments of the plugin SpazioSlots. The zero value of a
// field means its default. A plain value.
type SpazioSlotsArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Swap is Immediate (default) or Graceful.
	Swap string `json:"swap,omitempty"`
}

// WithDefaults returns a with its empty fields set.
func (a SpazioSlotsArgs) WithDefaults() SpazioSlotsArgs {
	if a.Swap == "" {
		a.Swap = SwapImmediate
	}
	return a
}

// Validate returns a *field.Error if a field is wrong.
func (a SpazioSlotsArgs) Validate() error {
	if swap := a.WithDefaults().Swap; swap != SwapImmediate && swap != SwapGraceful {
		return invalid("swap", a.Swap, "must be "+SwapImmediate+" or "+SwapGraceful)
	}
	return nil
}

// DeepCopyObject implements runtime.Object.
func (a *SpazioSlotsArgs) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	out := *a
	return &out
}
