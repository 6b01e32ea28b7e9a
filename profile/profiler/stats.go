package profiler

import (
	"cmp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// Result is what became of a window.
type Result uint8

// Results.
const (
	// Accepted: its workload's profile has it.
	Accepted Result = iota
	// Duplicate: the node sent it before.
	duplicate
	// Waiting: its pod, or container, is not known yet.
	Waiting
	// Expired: it waited for too long. It was counted as Waiting before.
	expired
	// Overflow: too many wait, and its node has its share of them. It may have been
	// counted as Waiting before.
	overflow
	// Foreign: its pod is bound to another node.
	foreign
	// Unnamed: its pod's workload, or revision, has no name that an object may have.
	unnamed
	// Refused: no pod can have used that.
	refused
	// Crowded: too many nodes send.
	crowded

	// resultCount is how many there are.
	resultCount = int(crowded) + 1
)

var resultNames = [resultCount]string{
	Accepted: "accepted", duplicate: "duplicate", Waiting: "waiting", expired: "expired", overflow: "overflow",
	foreign: "foreign", unnamed: "unnamed", refused: "refused", crowded: "crowded",
}

// String implements fmt.Stringer.
func (r Result) String() string {
	if int(r) < resultCount {
		return resultNames[r]
	}
	return "unknown"
}

// stats is what a Store has seen so far, and what it holds.
type stats struct {
	// Windows by what became of them.
	Windows [resultCount]uint64
	// Restarts counts workloads whose pods contradicted what was known of them.
	Restarts uint64
	// Evicted workloads went to make room, Forgotten ones because nothing was seen
	// of them.
	Evicted, Forgotten uint64
	// Workloads, Pods and WaitingWindows are kept, Unpublished workloads have
	// something to publish.
	Workloads, Pods, WaitingWindows, Unpublished int
}

// Stats returns the counts.
func (s *Store) Stats() stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Workloads, st.Pods, st.WaitingWindows = len(s.workloads), len(s.pods), s.waiting.all.Len()
	st.Unpublished = s.first.count + len(s.urgent)
	return st
}

// addRefused counts windows that a Server refused.
func (s *Store) addRefused(windows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Windows[refused] += uint64(windows)
}

// State is what a Store holds, for people.
type State struct {
	Stats     stats
	Workloads []workloadState
}

// workloadState is one of a State.
type workloadState struct {
	Workload profile.Workload
	Revision string `json:",omitempty"`
	Template uint64 `json:",omitempty"`
	Pods     int64
	Measured time.Time
	Demand   profile.Demand
	// Published is what the API has, at a time; zero if it has nothing.
	Published   profile.Demand
	PublishedAt time.Time
}

// State returns what is held, workloads in the order of their names.
func (s *Store) State(at time.Time) State {
	all := State{Stats: s.Stats(), Workloads: []workloadState{}}
	s.mu.Lock()
	for _, w := range s.workloads {
		demand, _ := w.demand(at)
		all.Workloads = append(all.Workloads, workloadState{
			Workload: w.of, Revision: w.profile.Revision(), Template: w.template, Pods: w.pods, Measured: w.measured,
			Demand: demand, Published: w.object.demand, PublishedAt: w.object.at,
		})
	}
	s.mu.Unlock()
	slices.SortFunc(all.Workloads, func(a, b workloadState) int {
		return cmp.Or(cmp.Compare(a.Workload.Namespace, b.Workload.Namespace), cmp.Compare(a.Workload.Kind, b.Workload.Kind), cmp.Compare(a.Workload.Name, b.Workload.Name))
	})
	return all
}
