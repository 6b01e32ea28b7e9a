package v1alpha1

// Prefix begins the labels, annotations and finalizers of this group; on pods only
// Spazio's own programs write them.
const Prefix = "testbed.spazio-scheduler.github.io/"

// Labels of the pods that stand in slots.
const (
	// LabelRole is RolePlaceholder or RoleSlot.
	LabelRole = Prefix + "role"
	// LabelTestbedUID, LabelBatchJobUID and LabelAttempt say whose pod it is; a placeholder has
	// the first of them alone.
	LabelTestbedUID  = Prefix + "testbed-uid"
	LabelBatchJobUID = Prefix + "batchjob-uid"
	LabelAttempt     = Prefix + "attempt"
)

// Values of LabelRole.
const (
	// RolePlaceholder: the pod reserves a slot's resources.
	RolePlaceholder = "placeholder"
	// RoleSlot: the pod is a job's, to run in a slot.
	RoleSlot = "slot"
)

// AnnotationSlot is the slot of a pod, NODE/POSITION: on a placeholder from its creation, on
// a job's pod from its binding on.
const AnnotationSlot = Prefix + "slot"

// AnnotationSize is on a placeholder, what it was made to hold and how, spelt by its Testbed's
// controller, which compares it: what is found in a pod may have been added on the way in.
const AnnotationSize = Prefix + "size"

// AnnotationAuthor is on a Scheduling that was created by the interface: who did that, as
// the API server knows him.
const AnnotationAuthor = Prefix + "author"

// AnnotationOptOut keeps Spazio's measured room from refusing a pod: the slot is its room.
const AnnotationOptOut = "spazio-scheduler.github.io/opt-out"

// Finalizers.
const (
	// FinalizerJobs is on a Scheduling until its jobs are released.
	FinalizerJobs = Prefix + "jobs"
	// FinalizerApplication is on a BatchJob until its application, the application's pods
	// and its claim are gone.
	FinalizerApplication = Prefix + "application"
	// FinalizerPlaceholders is on a Testbed until its claims and its placeholders are gone.
	FinalizerPlaceholders = Prefix + "placeholders"
)

// SchedulerName is the profile of kube-scheduler that puts pods into slots.
const SchedulerName = "spazio-slots"

// Priority classes of the pods in slots, both of one value: neither preempts.
const (
	PriorityClassPlaceholder = "spazio-placeholder"
	PriorityClassSlot        = "spazio-slot"
)
