package service

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// IsMovable is isMovable, for tests.
func IsMovable(pod *v1.Pod) bool { return isMovable(pod) }

// Allow reports whether disruption budgets allow an eviction.
func Allow(list []*policyv1.PodDisruptionBudget, pod *v1.Pod) bool { return compile(list).allow(pod) }
