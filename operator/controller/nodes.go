package controller

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// nodeStore has the labels of the nodes. Safe for concurrent use.
type nodeStore struct {
	mu sync.Mutex
	of map[string]map[string]string
}

// observe notes a node as it is, and says whether it is another than before.
func (s *nodeStore) observe(n *corev1.Node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.of[n.Name]; ok && maps.Equal(before, n.Labels) {
		return false
	}
	if s.of == nil {
		s.of = map[string]map[string]string{}
	}
	s.of[n.Name] = n.Labels
	return true
}

// forget notes that a node is gone.
func (s *nodeStore) forget(n *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, n.Name)
}

// matching returns the nodes that the Testbed wants, each with the value of its label.
// A Testbed that is on its way out wants none.
func (s *nodeStore) matching(tb *v1alpha1.Testbed, selector labels.Selector) map[string]string {
	out := map[string]string{}
	if tb.DeletionTimestamp != nil {
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, of := range s.of {
		if value, ok := of[tb.Spec.NodeLabel]; ok && selector.Matches(labels.Set(of)) {
			out[name] = value
		}
	}
	return out
}
