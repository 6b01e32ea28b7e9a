package demo

import (
	"strings"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// span is how long jobs ran on the nodes of the target Testbed, by the nodes' own clock,
// since the interface has times in whole seconds. It is safe for concurrent use.
type span struct {
	jobs []testbedJob

	mu          sync.Mutex
	first, last time.Time
}

// observe takes in what a pod has come to.
func (s *span) observe(e simnode.Event) {
	if !strings.HasPrefix(e.Node, target+"-") || !s.has(e.Pod.Name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Phase {
	case simnode.Running:
		if s.first.IsZero() || e.At.Before(s.first) {
			s.first = e.At
		}
	case simnode.Succeeded:
		if e.At.After(s.last) {
			s.last = e.At
		}
	}
}

// has reports whether a pod is one of a job, not one that reserves a slot.
func (s *span) has(pod string) bool {
	for _, j := range s.jobs {
		if strings.HasPrefix(pod, j.Name+"-") {
			return true
		}
	}
	return false
}

// seconds are from the first start to the last end.
func (s *span) seconds() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Sub(s.first).Seconds()
}
