package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

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
