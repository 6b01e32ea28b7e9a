package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bj
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.status.application.kind`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Scheduling",type=string,JSONPath=`.status.activeScheduling.name`
// +kubebuilder:printcolumn:name="Testbed",type=string,JSONPath=`.status.creationRequest.testbed.name`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// BatchJob is an application that is run in slots when a Scheduling says so, and again
// when another one does.
type BatchJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BatchJobSpec   `json:"spec"`
	Status BatchJobStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// BatchJobList is a list of jobs.
type BatchJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BatchJob `json:"items"`
}

// +kubebuilder:validation:XValidation:rule="[has(self.sparkSpec), has(self.flinkSpec), has(self.jobSpec)].filter(x, x).size() == 1",message="must have one of sparkSpec, flinkSpec and jobSpec"
// +kubebuilder:validation:XValidation:rule="has(self.sparkSpec) == has(oldSelf.sparkSpec) && has(self.flinkSpec) == has(oldSelf.flinkSpec) && has(self.jobSpec) == has(oldSelf.jobSpec)",message="the kind of application must not change"

// BatchJobSpec is what is run. An edit counts from the next run on.
type BatchJobSpec struct {
	// SparkSpec is the spec of a SparkApplication of sparkoperator.k8s.io/v1beta2. How
	// many executors there are, what they request and where they go is overwritten.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	SparkSpec *runtime.RawExtension `json:"sparkSpec,omitempty"`
	// FlinkSpec is the spec of a FlinkDeployment of flink.apache.org/v1beta1; of its task
	// managers the same is overwritten.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	FlinkSpec *runtime.RawExtension `json:"flinkSpec,omitempty"`
	// JobSpec is the spec of a Job of batch/v1. Its parallelism and where its pods go is
	// overwritten; pods that request nothing request their slot.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	JobSpec *runtime.RawExtension `json:"jobSpec,omitempty"`
	// ExternalScheduler is whatever the outside program wants to keep with the job.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	ExternalScheduler *runtime.RawExtension `json:"externalScheduler,omitempty"`
	// Retry bounds how often a failed run is tried again.
	// +optional
	// +kubebuilder:default={}
	Retry Retry `json:"retry,omitempty"`
	// SubmitTimeout is how long a run may take until its pods are bound and it runs; the
	// default is 10m.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="must be more than 0"
	SubmitTimeout *metav1.Duration `json:"submitTimeout,omitempty"`
	// StallTimeout is how long a run that runs may make no progress before it has failed: its
	// application does not say that it runs, or none of its pods runs. An application that is
	// being deleted and has no pods is waited for as long, and so are pods that are being
	// deleted, beyond their grace period: on a node that is off they stay, and their slots
	// are freed. The default is 10m.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="must be more than 0"
	StallTimeout *metav1.Duration `json:"stallTimeout,omitempty"`
	// AllowedNamespaces are those whose Schedulings may run the job.
	// +optional
	// +kubebuilder:default={}
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// Retry bounds how often a failed run is tried again.
type Retry struct {
	// Limit is how often; the default is 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	Limit int32 `json:"limit,omitempty"`
	// Delay is how long after the failure; the default is 10s.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must not be negative"
	Delay *metav1.Duration `json:"delay,omitempty"`
}

// +kubebuilder:validation:Enum=Ready;InQueue;Submitted;Scheduled;Running;Completed;Failed;Releasing

// BatchJobState is where a job is on its way.
type BatchJobState string

// States of a BatchJob, in the order in which they are reached; some may be skipped.
const (
	// BatchJobReady: no Scheduling has the job.
	BatchJobReady BatchJobState = "Ready"
	// BatchJobInQueue: a Scheduling has it, and it waits for slots.
	BatchJobInQueue BatchJobState = "InQueue"
	// BatchJobSubmitted: it has slots, and its application is created.
	BatchJobSubmitted BatchJobState = "Submitted"
	// BatchJobScheduled: the application's pods are bound.
	BatchJobScheduled BatchJobState = "Scheduled"
	// BatchJobRunning: the application and its pods run.
	BatchJobRunning BatchJobState = "Running"
	// BatchJobCompleted: the application has succeeded.
	BatchJobCompleted BatchJobState = "Completed"
	// BatchJobFailed: it has failed, and is not tried again.
	BatchJobFailed BatchJobState = "Failed"
	// BatchJobReleasing: the Scheduling has released it, and its application is not gone yet.
	BatchJobReleasing BatchJobState = "Releasing"
)

// BatchJobStatus is where a job is and how its runs went.
type BatchJobStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	State BatchJobState `json:"state,omitempty"`
	// Reason is why it has failed, is in the queue again, or makes no progress.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// StalledSince is since when a job that is Running has made no progress.
	// +optional
	StalledSince *metav1.Time `json:"stalledSince,omitempty"`
	// Conditions are of the types Valid, Acquired, PodsScheduled, Running, Completed and
	// FieldsOverridden.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ActiveScheduling is the one that has the job.
	// +optional
	ActiveScheduling *ObjectReference `json:"activeScheduling,omitempty"`
	// CreationRequest is what the application is to be created with.
	// +optional
	CreationRequest *CreationRequest `json:"creationRequest,omitempty"`
	// Retries are the failed runs that were followed by another since the active
	// Scheduling has the job.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Retries int32 `json:"retries,omitempty"`
	// NotBefore is when the job may be tried again.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// Application is what runs, or is to run.
	// +optional
	Application *Application `json:"application,omitempty"`
	// +optional
	Pods *PodCounts `json:"pods,omitempty"`
	// Runs are the last ones, the latest last; see AddRun.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Runs []Run `json:"runs,omitempty"`
}

// CreationRequest is what an application is to be created with: the slots that its job
// has claimed.
type CreationRequest struct {
	Testbed ObjectReference `json:"testbed"`
	// Slots are the slots' IDs, NODE/POSITION.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=257
	Slots []string `json:"slots"`
	// Resources are what each slot holds.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Replication is the number of slots, and of pods that run in them.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	Replication int32 `json:"replication"`
	// Attempt numbers all runs of the job, from 1.
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt"`
}

// Application is the object that an operator, or Kubernetes, runs for a job.
type Application struct {
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name, UID, State and Message are set once it has been created. State is in the
	// words of who runs it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=63
	UID types.UID `json:"uid,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	State string `json:"state,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}

// PodCounts are an application's pods that run in slots.
type PodCounts struct {
	Expected int32 `json:"expected"`
	Bound    int32 `json:"bound"`
	Running  int32 `json:"running"`
	Failed   int32 `json:"failed"`
}

// Run is one run of a job. Objects are named NAMESPACE/NAME.
type Run struct {
	// +kubebuilder:validation:MaxLength=317
	Scheduling string `json:"scheduling"`
	// +kubebuilder:validation:MaxLength=317
	Testbed string `json:"testbed"`
	// Slots are the slots' IDs; of long ago they may be missing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=257
	Slots []string `json:"slots,omitempty"`
	// Attempt is the creation request's.
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt"`
	// Application is the UID of what ran, once it has been seen.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=63
	Application types.UID `json:"application,omitempty"`
	// Submitted, Scheduled, Started and Finished are when the application was created,
	// its pods were bound, the last of its first containers started, and it ended.
	// +optional
	Submitted *metav1.Time `json:"submitted,omitempty"`
	// +optional
	Scheduled *metav1.Time `json:"scheduled,omitempty"`
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`
	// Outcome is set when the run has ended.
	// +optional
	Outcome Outcome `json:"outcome,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// +kubebuilder:validation:Enum=Succeeded;Failed;Cancelled

// Outcome is what came of a run.
type Outcome string

// Outcomes of runs.
const (
	Succeeded Outcome = "Succeeded"
	Failed    Outcome = "Failed"
	// Cancelled: its Scheduling released the job before it ended.
	Cancelled Outcome = "Cancelled"
)

// Types of a BatchJob's conditions.
const (
	// BatchJobValid: the application could be created.
	BatchJobValid = "Valid"
	// BatchJobAcquired: a Scheduling has the job.
	BatchJobAcquired = "Acquired"
	// BatchJobPodsScheduled: all its pods are bound.
	BatchJobPodsScheduled = "PodsScheduled"
	// BatchJobIsRunning: the application and all its pods run.
	BatchJobIsRunning = "Running"
	// BatchJobIsCompleted: the application has ended, well or not.
	BatchJobIsCompleted = "Completed"
	// BatchJobOverridden: fields of the application are not as they were given, since the slots
	// and the BatchJob say how many pods run, how large, where and how often. The message lists
	// them. A job without such fields does not have the condition.
	BatchJobOverridden = "FieldsOverridden"
)

// ReasonStalled is that of BatchJobIsRunning being false of a job that is Running: it makes
// no progress, and fails after spec.stallTimeout.
const ReasonStalled = "Stalled"

// Reasons of BatchJobValid being false.
const (
	// ReasonOperatorMissing: the API server does not know that kind of application.
	ReasonOperatorMissing = "OperatorMissing"
	// ReasonInvalidApplication: the message is the API server's, or names the field.
	ReasonInvalidApplication = "InvalidApplication"
	// ReasonSlotTooSmall: its pods don't fit in a slot.
	ReasonSlotTooSmall = "SlotTooSmall"
	// ReasonWebhookMissing: the operator makes pods without what its object asks for.
	ReasonWebhookMissing = "WebhookMissing"
)
