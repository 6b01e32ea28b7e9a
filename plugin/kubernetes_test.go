//go:build !kubernetes1.35

package plugin_test

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// eventRecorder is the type that the framework's handle returns.
type eventRecorder = events.EventRecorderLogger

// setGroup makes the pod a member of a pod group.
func setGroup(s *v1.PodSpec, name string) {
	s.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
}
