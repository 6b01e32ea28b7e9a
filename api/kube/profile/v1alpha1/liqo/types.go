package liqo

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the package's objects.
var GroupVersion = schema.GroupVersion{Group: "webapp.liqo.io.profiling", Version: "v1"}

// The resources' names.
const (
	MemoryProfiles     = "memoryprofiles"
	CPUProfiles        = "cpuprofiles"
	ConnectionProfiles = "connectionprofiles"
)

// MemoryProfile is what a pod of a job takes of memory, in bytes. It is a plain value, safe for
// concurrent reading.
type MemoryProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		MemoryProfiling amount[int64] `json:"memoryProfiling"`
	} `json:"spec"`
}

// CPUProfile is what a pod of a job takes of CPU, in cores. It is a plain value, safe for
// concurrent reading.
type CPUProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		CPUProfiling amount[Cores] `json:"cpuProfiling"`
	} `json:"spec"`
}

// amount is a measurement and its time.
type amount[T any] struct {
	UpdateTime Time `json:"updateTime"`
	Value      T    `json:"value"`
}

// ConnectionProfile is what one job sends to another. It is a plain value, safe for
// concurrent reading.
type ConnectionProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ConnectionProfileSpec `json:"spec"`
}

// ConnectionProfileSpec is the spec of a ConnectionProfile.
type ConnectionProfileSpec struct {
	// BandwidthRequirement is in bytes a second.
	BandwidthRequirement Rate   `json:"bandwidth_requirement"`
	DestinationJob       string `json:"destination_job"`
	DestinationNamespace string `json:"destination_namespace"`
	SourceJob            string `json:"source_job"`
	SourceNamespace      string `json:"source_namespace"`
	UpdateTime           Time   `json:"update_time"`
}
