package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sched
// +kubebuilder:printcolumn:name="Testbed",type=string,JSONPath=`.spec.testbed.name`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Done",type=string,JSONPath=`.status.conditions[?(@.type=="Completed")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Scheduling has jobs run in slots of a Testbed.
type Scheduling struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SchedulingSpec   `json:"spec"`
	Status SchedulingStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// SchedulingList is a list of schedulings.
type SchedulingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Scheduling `json:"items"`
}

// +kubebuilder:validation:XValidation:rule="has(self.queueBased) != has(self.slotBased)",message="must have one of queueBased and slotBased"
// +kubebuilder:validation:XValidation:rule="has(self.queueBased) == has(oldSelf.queueBased)",message="a queue stays a queue, and slots stay slots"

// SchedulingSpec is what an outside program has decided. It is a queue or names slots,
// and stays what it is.
type SchedulingSpec struct {
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="must not change"
	Testbed TestbedReference `json:"testbed"`
	// QueueBased is a queue of jobs, each named as often as it is to have slots. The
	// lowest free slots are theirs in turn.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5000
	QueueBased []JobReference `json:"queueBased,omitempty"`
	// SlotBased names the slots of each job.
	// +optional
	SlotBased *SlotBased `json:"slotBased,omitempty"`
	// Priority orders the Schedulings that want slots of one Testbed: higher ones first,
	// of equals the oldest. The default is 0.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`
	// Exclusive waits until no other Scheduling has slots of the Testbed, and lets no other
	// have any.
	// +optional
	// +kubebuilder:default=false
	Exclusive bool `json:"exclusive,omitempty"`
	// Confirm decides whether a job is submitted only when the pods of those before it are
	// bound; the default is None.
	// +optional
	// +kubebuilder:default=None
	Confirm Confirm `json:"confirm,omitempty"`
	// OnFailure decides what a job that failed means for the others; the default is Continue.
	// +optional
	// +kubebuilder:default=Continue
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// TTLSecondsAfterFinished deletes the Scheduling so long after its end; by default it
	// stays.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TestbedReference names a Testbed.
type TestbedReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Namespace is by default the Scheduling's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// JobReference names a BatchJob.
type JobReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Namespace is by default the Scheduling's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// SlotBased names the slots of each job, in the order in which jobs are submitted.
type SlotBased struct {
	// Mode is Strict by default.
	// +optional
	// +kubebuilder:default=Strict
	Mode SlotMode `json:"mode,omitempty"`
	// +listType=map
	// +listMapKey=name
	// +listMapKey=namespace
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Jobs []SlotJob `json:"jobs"`
}

// +kubebuilder:validation:Enum=Strict;Relaxed

// SlotMode decides which jobs wait for others.
type SlotMode string

// Values of SlotMode.
const (
	// Strict: a job is submitted only if all before it have been.
	Strict SlotMode = "Strict"
	// Relaxed: a job is submitted as soon as its slots are free.
	Relaxed SlotMode = "Relaxed"
)

// SlotJob is a job and the slots that it runs in.
type SlotJob struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Namespace is by default the Scheduling's.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Slots are indices, from 0, or IDs, NODE/POSITION.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5000
	Slots []SlotReference `json:"slots"`
}

// +kubebuilder:validation:Enum=None;Each

// Confirm decides when the next job is submitted.
type Confirm string

// Values of Confirm.
const (
	// ConfirmNone: as soon as there are slots.
	ConfirmNone Confirm = "None"
	// ConfirmEach: when the pods of all submitted jobs are bound.
	ConfirmEach Confirm = "Each"
)

// +kubebuilder:validation:Enum=Continue;Stop

// OnFailure decides what a job that failed means for the others.
type OnFailure string

// Values of OnFailure.
const (
	// OnFailureContinue: nothing.
	OnFailureContinue OnFailure = "Continue"
	// OnFailureStop: no further job is submitted, and the Scheduling has failed.
	OnFailureStop OnFailure = "Stop"
)

// +kubebuilder:validation:Enum=Acquiring;Confirming;Submitting;AwaitingCompletion;Completed;Failed;Releasing

// SchedulingState is where a Scheduling is on its way.
type SchedulingState string

// States of a Scheduling.
const (
	// SchedulingAcquiring: it wants all its jobs at once.
	SchedulingAcquiring SchedulingState = "Acquiring"
	// SchedulingConfirming: submitted jobs are to be bound first (ConfirmEach).
	SchedulingConfirming SchedulingState = "Confirming"
	// SchedulingSubmitting: jobs wait for slots.
	SchedulingSubmitting SchedulingState = "Submitting"
	// SchedulingAwaitingCompletion: all jobs are submitted, some have not ended.
	SchedulingAwaitingCompletion SchedulingState = "AwaitingCompletion"
	// SchedulingCompleted: all jobs have ended.
	SchedulingCompleted SchedulingState = "Completed"
	// SchedulingFailed: a job failed (OnFailureStop).
	SchedulingFailed SchedulingState = "Failed"
	// SchedulingReleasing: it is deleted, and its jobs are not released yet.
	SchedulingReleasing SchedulingState = "Releasing"
)

// SchedulingStatus is how far a Scheduling has been carried out.
type SchedulingStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	State SchedulingState `json:"state,omitempty"`
	// Reason is what it waits for, naming the job and who has what the job needs, or which of
	// its jobs did not succeed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// Conditions are of the types Feasible, Acquired, SpecAccepted and Completed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Jobs are each once, in the order in which they are first named.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=namespace
	// +kubebuilder:validation:MaxItems=5000
	Jobs []SchedulingJob `json:"jobs,omitempty"`
	// Acquired are the jobs, NAMESPACE/NAME, that it names and has had or reserved.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=317
	Acquired []string `json:"acquired,omitempty"`
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// +optional
	Completed *metav1.Time `json:"completed,omitempty"`
}

// SchedulingJob is how far a job is.
type SchedulingJob struct {
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// +optional
	State BatchJobState `json:"state,omitempty"`
	// Reason is why it has failed. A job that was deleted before it ended has.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// Slots are the slots' IDs, NODE/POSITION, once it has them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=257
	Slots []string `json:"slots,omitempty"`
}

// Types of a Scheduling's conditions.
const (
	// SchedulingFeasible: all that it names is there and may be used.
	SchedulingFeasible = "Feasible"
	// SchedulingAcquired: it has its jobs. False with reason Claiming: it reserves them, and has
	// each as that gets slots.
	SchedulingAcquired = "Acquired"
	// SchedulingSpecAccepted: what was edited last can be carried out.
	SchedulingSpecAccepted = "SpecAccepted"
	// SchedulingIsCompleted: all jobs have ended.
	SchedulingIsCompleted = "Completed"
)

// Reasons of SchedulingFeasible and SchedulingSpecAccepted being false.
const (
	ReasonUnknownTestbed = "UnknownTestbed"
	ReasonUnknownJob     = "UnknownJob"
	ReasonUnknownSlot    = "UnknownSlot"
	ReasonTooManySlots   = "TooManySlots"
	ReasonNotAllowed     = "NotAllowed"
	// ReasonDuplicateJob: of entries of one job the first counts.
	ReasonDuplicateJob = "DuplicateJob"
	// ReasonSubmittedJobChanged: such an edit is ignored.
	ReasonSubmittedJobChanged = "SubmittedJobChanged"
)
