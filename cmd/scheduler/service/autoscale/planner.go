package autoscale

import (
	"cmp"
	"slices"
	"time"
)

// maxBuffers bounds the buffers that exist at a time. Workloads beyond it follow as others end.
const maxBuffers = 100

// amount is of CPU and of memory: cores and bytes, or shares of a node's.
type amount struct{ CPU, Memory float64 }

// waitingPods is a workload of which pods wait for measured room alone.
type waitingPods struct {
	Workload string
	// Pods is how many wait, Oldest since when the first of them does.
	Pods   int
	Oldest time.Time
	// Demand is what one of them is expected to take, in cores and bytes.
	Demand amount
}

// buffer is a CapacityBuffer together with its PodTemplate.
type buffer struct {
	Workload string
	Replicas int
	// Demand is what the template requests. decide does not read that of a buffer that exists.
	Demand amount
}

// plannerInput is what a pass begins with.
type plannerInput struct {
	Now     time.Time
	Waiting []waitingPods
	Nodes   []plannedNode
	// Buffers exist in the API. BuffersUnknown is set if they could not be listed: then nothing is
	// decided about buffers.
	Buffers        []buffer
	BuffersUnknown bool
}

// plannerOutput is what a pass has to bring about.
type plannerOutput struct {
	// Buffers are those of workloads that wait, by workload: they must exist like this. A buffer
	// that exists and is neither among them nor in Delete stays as it is.
	Buffers []buffer
	// Delete lists the workloads whose buffers must go, at each pass until they are gone.
	Delete []string
	// Nodes are the nodes to write now, the most urgent first.
	Nodes []nodeChange
}

// planner decides what a cluster's autoscaler is shown: which CapacityBuffers ask for nodes on
// behalf of pods that wait for measured room, which nodes are labelled as full, and which are
// protected from being drained while they are busy. It is for one goroutine and knows no API.
//
// It is given, at each pass, what waits, what the nodes measure and what exists, and returns what
// should exist. It remembers only since when things are as they are, so that a planner that starts
// anew, as after the death of a leader, continues from what exists: it never doubles an object, and
// removes what exists only after the same delay as any other.
type planner struct {
	config  Config
	sizes   map[string]*size
	nodes   map[string]*nodeState
	writes  float64 // that are allowed now
	decided time.Time
}

// newPlanner returns a planner that knows nothing yet. It does not validate the configuration.
func newPlanner(c Config) *planner {
	return &planner{config: c.withDefaults(), sizes: map[string]*size{}, nodes: map[string]*nodeState{}}
}

// size is the size of a workload's buffer over time.
type size struct {
	// recent holds the numbers of waiting pods of the last ScaleDownDelay that no later number
	// reached, the oldest and largest first.
	recent []sample
	demand amount
}

type sample struct {
	at   time.Time
	pods int
}

// add takes in how many pods wait and returns the most of late.
func (s *size) add(now time.Time, pods int, delay time.Duration) int {
	for len(s.recent) > 0 && s.recent[len(s.recent)-1].pods <= pods {
		s.recent = s.recent[:len(s.recent)-1]
	}
	s.recent = append(s.recent, sample{now, pods})
	for now.Sub(s.recent[0].at) >= delay && len(s.recent) > 1 {
		s.recent = s.recent[1:]
	}
	return s.recent[0].pods
}

// decide returns what a pass has to bring about. Times of later calls must not be earlier.
func (p *planner) decide(in plannerInput) plannerOutput {
	var out plannerOutput
	if !in.BuffersUnknown {
		out.Buffers, out.Delete = p.buffers(in)
	}
	out.Nodes = p.changes(in)
	p.decided = in.Now
	return out
}

func (p *planner) buffers(in plannerInput) (want []buffer, remove []string) {
	existing := make(map[string]int, len(in.Buffers))
	for _, b := range in.Buffers {
		existing[b.Workload] = b.Replicas
	}
	waiting := p.admitted(in, existing)
	for _, of := range in.Buffers {
		if _, known := p.sizes[of.Workload]; !known { // another leader made it
			p.sizes[of.Workload] = &size{recent: []sample{{in.Now, of.Replicas}}}
		}
	}
	for of, s := range p.sizes {
		w, waits := waiting[of]
		replicas := s.add(in.Now, min(w.Pods, p.config.MaxReplicas), p.config.ScaleDownDelay)
		_, exists := existing[of]
		switch {
		case waits:
			s.demand = steady(s.demand, w.Demand)
			want = append(want, buffer{Workload: of, Replicas: replicas, Demand: s.demand})
		case !exists: // deleted, by whomever
			delete(p.sizes, of)
		case replicas == 0:
			remove = append(remove, of)
		}
	}
	slices.SortFunc(want, func(a, b buffer) int { return cmp.Compare(a.Workload, b.Workload) })
	slices.Sort(remove)
	return want, remove
}

// admitted returns the workloads that have waited long enough, or have a buffer already, up to
// maxBuffers in all, and begins to keep the sizes of their buffers. A workload whose buffer was asked
// for and does not exist comes last: what cannot be written keeps no other workload waiting.
func (p *planner) admitted(in plannerInput, existing map[string]int) map[string]waitingPods {
	order := slices.DeleteFunc(slices.Clone(in.Waiting), func(w waitingPods) bool { return w.Pods <= 0 })
	failed := func(w waitingPods) int {
		if _, exists := existing[w.Workload]; !exists && p.sizes[w.Workload] != nil {
			return 1
		}
		return 0
	}
	slices.SortFunc(order, func(a, b waitingPods) int {
		return cmp.Or(failed(a)-failed(b), a.Oldest.Compare(b.Oldest), cmp.Compare(a.Workload, b.Workload))
	})
	taken := len(existing)
	admitted := make(map[string]waitingPods, len(order))
	for _, w := range order {
		if _, exists := existing[w.Workload]; !exists {
			if in.Now.Sub(w.Oldest) < p.config.ScaleUpDelay || taken >= maxBuffers {
				continue
			}
			taken++
			if p.sizes[w.Workload] == nil {
				p.sizes[w.Workload] = &size{}
			}
		}
		admitted[w.Workload] = w
	}
	return admitted
}

// steadiness is the share by which a demand may move without a new template: each is a write and
// has the autoscaler simulate anew.
const steadiness = 0.1

// steady returns the demand before unless it differs by more than steadiness in either resource.
func steady(before, now amount) amount {
	if isNear(before.CPU, now.CPU) && isNear(before.Memory, now.Memory) {
		return before
	}
	return now
}

func isNear(before, now float64) bool {
	return max(now-before, before-now) <= steadiness*before
}
