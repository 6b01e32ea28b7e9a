package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=wp
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.status.demand.cpu.amount`
// +kubebuilder:printcolumn:name="MEMORY",type=string,JSONPath=`.status.demand.memory.amount`
// +kubebuilder:printcolumn:name="CONFIDENCE",type=string,JSONPath=`.status.demand.memory.confidence`
// +kubebuilder:printcolumn:name="PODS",type=integer,JSONPath=`.status.pods`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`

// WorkloadProfile is what the pods of a workload take. The profiler makes it and
// writes its status.
type WorkloadProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WorkloadProfileSpec   `json:"spec"`
	Status WorkloadProfileStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// WorkloadProfileList is a list of profiles.
type WorkloadProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadProfile `json:"items"`
}

// +kubebuilder:validation:XValidation:rule="!has(self.minAllowed) || !has(self.maxAllowed) || !has(self.minAllowed.cpu) || !has(self.maxAllowed.cpu) || !quantity(string(self.maxAllowed.cpu)).isLessThan(quantity(string(self.minAllowed.cpu)))",message="must be at least minAllowed.cpu",fieldPath=".maxAllowed.cpu"
// +kubebuilder:validation:XValidation:rule="!has(self.minAllowed) || !has(self.maxAllowed) || !has(self.minAllowed.memory) || !has(self.maxAllowed.memory) || !quantity(string(self.maxAllowed.memory)).isLessThan(quantity(string(self.minAllowed.memory)))",message="must be at least minAllowed.memory",fieldPath=".maxAllowed.memory"

// WorkloadProfileSpec says whose profile it is, and what may be done with it.
type WorkloadProfileSpec struct {
	Workload WorkloadReference `json:"workload"`
	// Mode says what schedulers make of the profile, as far as their own setting
	// lets them; the default is On.
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// Preset is by whose rules the recommendation is made; the default is the
	// profiler's.
	// +optional
	// +kubebuilder:validation:Enum=spazio;seed;vpa;autopilot;autopilot-batch;koordlet
	Preset string `json:"preset,omitempty"`
	// MinAllowed and MaxAllowed bound the recommendation for each container.
	// +optional
	MinAllowed *Bounds `json:"minAllowed,omitempty"`
	// +optional
	MaxAllowed *Bounds `json:"maxAllowed,omitempty"`
	// Application names what the workload is a part of.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Application string `json:"application,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="must not change"

// WorkloadReference names a workload of the profile's namespace.
type WorkloadReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// +kubebuilder:validation:Enum=Observe;On;Off

// Mode is what schedulers make of a profile.
type Mode string

// Modes of a profile.
const (
	// On: the workload's pods count as what they take.
	On Mode = "On"
	// Observe: they count as typical pods, and what would differ is counted.
	Observe Mode = "Observe"
	// Off: the profile is not looked at.
	Off Mode = "Off"
)

// +kubebuilder:validation:XValidation:rule="!has(self.cpu) || !quantity(string(self.cpu)).isLessThan(quantity('0'))",message="must not be negative",fieldPath=".cpu"
// +kubebuilder:validation:XValidation:rule="!has(self.memory) || !quantity(string(self.memory)).isLessThan(quantity('0'))",message="must not be negative",fieldPath=".memory"

// Bounds are cores and bytes.
type Bounds struct {
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// WorkloadProfileStatus is what the profiler has found.
type WorkloadProfileStatus struct {
	// ObservedAt is when it was.
	// +optional
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
	// Revision is the newest of the workload that was seen.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`
	// Pods were seen.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pods int64 `json:"pods,omitempty"`
	// Demand is what a pod takes that starts now and lives as long as others did.
	// +optional
	Demand *Demand `json:"demand,omitempty"`
	// Slots are the demands by slot of the day, of equal length, the first from
	// midnight on in the profiler's zone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=24
	Slots []Demand `json:"slots,omitempty"`
	// Lifetime is how long pods lived.
	// +optional
	Lifetime *Lifetime `json:"lifetime,omitempty"`
	// Recommendation is what containers should request.
	// +optional
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	// Application is what the workload was found to be a part of.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Application string `json:"application,omitempty"`
	// Connections are those that carried most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Connections []Connection `json:"connections,omitempty"`
	// Factors are by what the continuous profiler corrects what was learnt.
	// +optional
	Factors *Factors `json:"factors,omitempty"`
	// Throttled is the share of periods in which a limit held a pod up.
	// +optional
	Throttled Ratio `json:"throttled,omitempty"`
	// OOMKills were seen.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OOMKills int64 `json:"oomKills,omitempty"`
	// Conditions are of the types Ready, Contradicted, Stale and HorizontallyScaled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Types of conditions.
const (
	// Ready: there is a demand.
	Ready = "Ready"
	// Contradicted: three pods in a row took something else than was known, and
	// what is known began anew with them.
	Contradicted = "Contradicted"
	// Stale: no pod has been measured for long.
	Stale = "Stale"
	// HorizontallyScaled: an autoscaler changes the number of pods by what they use.
	HorizontallyScaled = "HorizontallyScaled"
)

// +kubebuilder:validation:Pattern=`^(0(\.[0-9]{1,4})?|1(\.0{1,4})?)$`
// +kubebuilder:validation:MaxLength=6

// Ratio is a number from 0 to 1 with at most four digits after the point.
type Ratio string

// +kubebuilder:validation:Pattern=`^[0-9]{1,4}(\.[0-9]{1,4})?$`
// +kubebuilder:validation:MaxLength=9

// Factor is a number of at most four digits before and after the point.
type Factor string

// Factors are on the recommended targets of CPU and memory.
type Factors struct {
	CPU    Factor `json:"cpu"`
	Memory Factor `json:"memory"`
	// At is when they were found.
	At metav1.Time `json:"at"`
	// Applied is set if the recommendation uses them.
	// +optional
	Applied bool `json:"applied,omitempty"`
}

// Demand is what a pod takes: cores and bytes.
type Demand struct {
	CPU    Share `json:"cpu"`
	Memory Share `json:"memory"`
}

// Amounts are cores and bytes.
//
// That a quantity of the status is not negative is said by its pattern, Kubernetes'
// own without the minus: a rule that compares it costs more than the API server
// grants one in a list.
type Amounts struct {
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	CPU resource.Quantity `json:"cpu,omitempty"`
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	Memory resource.Quantity `json:"memory,omitempty"`
}

// Share is an amount, its standard deviation between pods, and how far both are to
// be believed.
type Share struct {
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	Amount resource.Quantity `json:"amount"`
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	SD         resource.Quantity `json:"sd,omitempty"`
	Confidence Ratio             `json:"confidence"`
}

// Lifetime is how long the median pod, and nine of ten, lived at most.
type Lifetime struct {
	P50 metav1.Duration `json:"p50"`
	P90 metav1.Duration `json:"p90"`
}

// Recommendation has the shape of the Vertical Pod Autoscaler's.
type Recommendation struct {
	// +listType=map
	// +listMapKey=containerName
	// +kubebuilder:validation:MaxItems=64
	ContainerRecommendations []ContainerRecommendation `json:"containerRecommendations,omitempty"`
}

// ContainerRecommendation is what a container should request; no container is
// named where none was measured apart from its pod.
type ContainerRecommendation struct {
	// +kubebuilder:validation:MaxLength=63
	ContainerName string `json:"containerName"`
	// Target is the recommendation; between LowerBound and UpperBound a request
	// needs no change.
	Target Amounts `json:"target"`
	// +optional
	LowerBound Amounts `json:"lowerBound,omitempty"`
	// +optional
	UpperBound Amounts `json:"upperBound,omitempty"`
	// UncappedTarget is the target without minAllowed and maxAllowed.
	// +optional
	UncappedTarget Amounts `json:"uncappedTarget,omitempty"`
}

// Connection is what goes between the workload and another.
type Connection struct {
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:Minimum=0
	RequestBytesPerSecond int64 `json:"requestBytesPerSecond"`
	// +kubebuilder:validation:Minimum=0
	ResponseBytesPerSecond int64 `json:"responseBytesPerSecond"`
}
