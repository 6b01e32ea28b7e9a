//go:build !kubernetes1.35

package plugin_test

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// eventRecorder is what the framework's handle has.
type eventRecorder = events.EventRecorderLogger

// setGroup has the pod placed with others.
func setGroup(s *v1.PodSpec, name string) {
	s.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
}
