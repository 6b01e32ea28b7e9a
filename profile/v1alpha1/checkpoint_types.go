package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WorkloadProfileCheckpoint is what the profiler knows of a workload, for its next
// process.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=wpc
type WorkloadProfileCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Workload WorkloadReference `json:"workload"`
	// Template is a hash of the containers of the workload's pods, in hexadecimal.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{16}$`
	Template string `json:"template,omitempty"`
	// Pods were measured.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pods int64 `json:"pods,omitempty"`
	// Version is that of data.
	// +kubebuilder:validation:Minimum=1
	Version int32 `json:"version"`
	// Data is the profiler's own.
	// +kubebuilder:validation:MaxLength=1048576
	Data []byte `json:"data"`
}

// WorkloadProfileCheckpointList is a list of checkpoints.
//
// +kubebuilder:object:root=true
type WorkloadProfileCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadProfileCheckpoint `json:"items"`
}
