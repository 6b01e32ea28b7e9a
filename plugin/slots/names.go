package slots

import v1 "k8s.io/api/core/v1"

// Name is the plugin's name in a scheduler's configuration.
const Name = "SpazioSlots"

// The names that package operator/v1alpha1 documents: plugins don't import the operator.
// A test of the programs, which know both, holds them equal.
const (
	// Group, Version and BatchJobs are where BatchJobs are.
	Group     = "testbed.spazio-scheduler.github.io"
	Version   = "v1alpha1"
	BatchJobs = "batchjobs"

	LabelRole        = Group + "/role"
	LabelTestbedUID  = Group + "/testbed-uid"
	LabelBatchJobUID = Group + "/batchjob-uid"
	LabelAttempt     = Group + "/attempt"
	AnnotationSlot   = Group + "/slot"

	RoleGhost = "ghost"
	RoleSlot  = "slot"
)

func isGhost(pod *v1.Pod) bool { return pod.Labels[LabelRole] == RoleGhost }

// isTenant says whether the pod is a BatchJob's, for a slot.
func isTenant(pod *v1.Pod) bool { return pod.Labels[LabelRole] == RoleSlot }
