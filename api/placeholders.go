package api

import (
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/reserve"
)

// FromPlaceholders converts the keys of a node's placeholder pods, the wire's placeholders.
func FromPlaceholders(pods []reserve.PodKey) *spaziov1.GhostPods {
	m := &spaziov1.GhostPods{Pods: make([]uint64, len(pods))}
	for i, key := range pods {
		m.Pods[i] = uint64(key)
	}
	return m
}

// ToPlaceholders converts and checks the keys of a node's placeholder pods. Errors are *field.Error.
func ToPlaceholders(m *spaziov1.GhostPods) ([]reserve.PodKey, error) {
	if m == nil {
		return nil, refuse("ghost_pods", nil, ErrMissing)
	}
	if n := len(m.GetPods()); n > MaxAbsorbed {
		return nil, refuseLength("pods", n, MaxAbsorbed)
	}
	pods := make([]reserve.PodKey, len(m.GetPods()))
	for i, key := range m.GetPods() {
		pods[i] = reserve.PodKey(key)
	}
	return pods, nil
}
