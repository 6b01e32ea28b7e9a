package follow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// Pods are the pods on a node, by a key of the source's, and what of them was
// reported last. What there is before the first report is no churn. The zero Pods
// are none. They are not safe for concurrent use.
type Pods struct {
	pods                   map[string]telemetry.Pod
	churn, stale, reported bool
	last                   []telemetry.Pod
}

// Put stores a pod.
func (s *Pods) Put(key string, pod telemetry.Pod) {
	if s.pods == nil {
		s.pods = map[string]telemetry.Pod{}
	}
	if before, known := s.pods[key]; !known || before != pod {
		s.pods[key], s.stale = pod, true
	}
}

// Remove forgets a pod and reports whether it was known.
func (s *Pods) Remove(key string) bool {
	_, known := s.pods[key]
	delete(s.pods, key)
	s.stale = s.stale || known
	return known
}

// Keys are the keys of all pods, in no order.
func (s *Pods) Keys() []string { return slices.Collect(maps.Keys(s.pods)) }

// Churn notes that a container starts or stops.
func (s *Pods) Churn() { s.churn = true }

// Report notifies of what happened since it was called last; the first time in
// any case.
func (s *Pods) Report(notify func(telemetry.PodEvent)) {
	e := telemetry.PodEvent{Churn: s.churn && s.reported, Changed: !s.reported}
	var pods []telemetry.Pod
	if s.stale || !s.reported {
		pods = s.list()
		e.Changed = e.Changed || !slices.Equal(pods, s.last)
	}
	s.churn, s.stale, s.reported = false, false, true
	if !e.Churn && !e.Changed {
		return
	}
	if e.Changed {
		s.last = pods
		e.Pods = slices.Clone(pods)
	}
	e.At = time.Now()
	notify(e)
}

// list returns the pods by UID; of several with one UID the one whose key that is, or else
// the one that runs, or has started most. A pod may say that it is the mirror of any other,
// as whoever makes it writes its annotations.
func (s *Pods) list() []telemetry.Pod {
	pods := make([]telemetry.Pod, 0, len(s.pods))
	for key, pod := range s.pods {
		if _, own := s.pods[pod.UID]; !own || key == pod.UID {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b telemetry.Pod) int {
		return cmp.Or(strings.Compare(a.UID, b.UID), runs(b)-runs(a), b.Starts-a.Starts)
	})
	return slices.CompactFunc(pods, func(a, b telemetry.Pod) bool { return a.UID == b.UID })
}

// runs is 1 for a pod that runs.
func runs(p telemetry.Pod) int {
	if p.State == telemetry.PodRunning {
		return 1
	}
	return 0
}
