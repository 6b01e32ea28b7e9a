package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=wpc

// WorkloadProfileCheckpoint is what the profiler knows of some workloads, for its next
// process. It is in the profiler's own namespace: of thousands of workloads there are
// some hundred checkpoints, whichever namespaces they are of.
type WorkloadProfileCheckpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Version is that of the workloads' data.
	// +kubebuilder:validation:Minimum=1
	Version int32 `json:"version"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20000
	Workloads []WorkloadCheckpoint `json:"workloads"`
}

// WorkloadCheckpoint is what the profiler knows of a workload.
type WorkloadCheckpoint struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Template is a hash of the containers of the workload's pods, in hexadecimal.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{16}$`
	Template string `json:"template,omitempty"`
	// Pods were measured.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pods int64 `json:"pods,omitempty"`
	// Data is the profiler's own.
	// +kubebuilder:validation:MaxLength=1048576
	Data []byte `json:"data"`
	// Calls are the profiler's own, too: who it calls.
	// +optional
	// +kubebuilder:validation:MaxLength=1048576
	Calls []byte `json:"calls,omitempty"`
}

// +kubebuilder:object:root=true

// WorkloadProfileCheckpointList is a list of checkpoints.
type WorkloadProfileCheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WorkloadProfileCheckpoint `json:"items"`
}
