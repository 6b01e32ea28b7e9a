//go:build kubernetes1.35

package podstate

import v1 "k8s.io/api/core/v1"

// isGrouped reports whether a pod is scheduled together with others.
func isGrouped(s *v1.PodSpec) bool { return s.WorkloadRef != nil }
