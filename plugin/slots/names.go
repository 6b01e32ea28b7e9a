package slots

import v1 "k8s.io/api/core/v1"

// Name is the plugin's name in a scheduler's configuration.
const Name = "SpazioSlots"

// These names are documented in package operator/v1alpha1, which plugins do not import. A test of
// the programs, which import both, keeps them equal.
const (
	// Group, Version and BatchJobs identify the resource of BatchJobs.
	Group     = "testbed.spazio-scheduler.github.io"
	Version   = "v1alpha1"
	BatchJobs = "batchjobs"

	LabelRole        = Group + "/role"
	LabelTestbedUID  = Group + "/testbed-uid"
	LabelBatchJobUID = Group + "/batchjob-uid"
	LabelAttempt     = Group + "/attempt"
	AnnotationSlot   = Group + "/slot"

	RolePlaceholder = "placeholder"
	RoleSlot        = "slot"
)

func isPlaceholder(pod *v1.Pod) bool { return pod.Labels[LabelRole] == RolePlaceholder }

// isTenant reports whether the pod belongs to a BatchJob and goes into a slot.
func isTenant(pod *v1.Pod) bool { return pod.Labels[LabelRole] == RoleSlot }
