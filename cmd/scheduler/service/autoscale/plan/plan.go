package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Defaults of Config.
const (
	DefaultScaleUpDelay   = 30 * time.Second
	DefaultScaleDownDelay = 2 * time.Minute
	DefaultMaxReplicas    = 100
	DefaultProtectAbove   = 0.5
)

// MaxBuffers bounds the buffers that exist at a time. Workloads beyond it follow as others end.
const MaxBuffers = 100

// ErrInvalid is what the errors of Validate wrap.
var ErrInvalid = errors.New("invalid configuration")

// Config configures a Planner; zero fields have the defaults.
type Config struct {
	// ScaleUpDelay is how long a workload's pods wait before a buffer asks for nodes, and how long a
	// node refuses pods before it is labelled as full.
	ScaleUpDelay time.Duration
	// ScaleDownDelay is how long a buffer keeps its size after fewer pods wait. A node keeps its
	// label and its protection for half of it.
	ScaleDownDelay time.Duration
	// MaxReplicas bounds the pods that one buffer asks for.
	MaxReplicas int
	// ProtectAbove is the share of a node's CPU or memory in use above which it is busy.
	ProtectAbove float64
}

// Validate returns a *field.Error for a value that is out of range.
func (c Config) Validate() error {
	for _, f := range []struct {
		name  string
		value any
		isOK  bool
		why   string
	}{
		{"scaleUpDelay", c.ScaleUpDelay, c.ScaleUpDelay >= 0, "must not be negative"},
		{"scaleDownDelay", c.ScaleDownDelay, c.ScaleDownDelay >= 0, "must not be negative"},
		{"maxReplicas", c.MaxReplicas, c.MaxReplicas >= 0, "must not be negative"},
		{"protectAbove", c.ProtectAbove, c.ProtectAbove >= 0 && c.ProtectAbove <= 1, "must be from 0 to 1"},
	} {
		if !f.isOK {
			return &field.Error{Package: "autoscale", Field: f.name, Value: f.value, Err: fmt.Errorf("%w: %s", ErrInvalid, f.why)}
		}
	}
	return nil
}

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	return Config{
		ScaleUpDelay: cmp.Or(c.ScaleUpDelay, DefaultScaleUpDelay), ScaleDownDelay: cmp.Or(c.ScaleDownDelay, DefaultScaleDownDelay),
		MaxReplicas: cmp.Or(c.MaxReplicas, DefaultMaxReplicas), ProtectAbove: cmp.Or(c.ProtectAbove, DefaultProtectAbove),
	}
}

// Amount is of CPU and of memory: cores and bytes, or shares of a node's.
type Amount struct{ CPU, Memory float64 }

// Waiting is a workload of which pods wait for measured room alone.
type Waiting struct {
	Workload string
	// Pods is how many wait, Oldest since when the first of them does.
	Pods   int
	Oldest time.Time
	// Demand is what one of them is expected to take, in cores and bytes.
	Demand Amount
}

// Buffer is a CapacityBuffer together with its PodTemplate.
type Buffer struct {
	Workload string
	Replicas int
	// Demand is what the template requests. Decide does not read that of a buffer that exists.
	Demand Amount
}

// Input is what a pass begins with.
type Input struct {
	Now     time.Time
	Waiting []Waiting
	Nodes   []Node
	// Buffers exist in the API. BuffersUnknown is set if they could not be listed: then nothing is
	// decided about buffers.
	Buffers        []Buffer
	BuffersUnknown bool
}

// Output is what a pass has to bring about.
type Output struct {
	// Buffers are those of workloads that wait, by workload: they must exist like this. A buffer
	// that exists and is neither among them nor in Delete stays as it is.
	Buffers []Buffer
	// Delete lists the workloads whose buffers must go, at each pass until they are gone.
	Delete []string
	// Nodes are the nodes to write now, the most urgent first.
	Nodes []NodeChange
}

// Planner decides. It is for one goroutine.
type Planner struct {
	config  Config
	sizes   map[string]*size
	nodes   map[string]*nodeState
	writes  float64 // that are allowed now
	decided time.Time
}

// New returns a Planner that knows nothing yet. It does not validate the configuration.
func New(c Config) *Planner {
	return &Planner{config: c.WithDefaults(), sizes: map[string]*size{}, nodes: map[string]*nodeState{}}
}

// size is the size of a workload's buffer over time.
type size struct {
	// recent holds the numbers of waiting pods of the last ScaleDownDelay that no later number
	// reached, the oldest and largest first.
	recent []sample
	demand Amount
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

// Decide returns what a pass has to bring about. Times of later calls must not be earlier.
func (p *Planner) Decide(in Input) Output {
	var out Output
	if !in.BuffersUnknown {
		out.Buffers, out.Delete = p.buffers(in)
	}
	out.Nodes = p.changes(in)
	p.decided = in.Now
	return out
}

func (p *Planner) buffers(in Input) (want []Buffer, remove []string) {
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
			want = append(want, Buffer{Workload: of, Replicas: replicas, Demand: s.demand})
		case !exists: // deleted, by whomever
			delete(p.sizes, of)
		case replicas == 0:
			remove = append(remove, of)
		}
	}
	slices.SortFunc(want, func(a, b Buffer) int { return cmp.Compare(a.Workload, b.Workload) })
	slices.Sort(remove)
	return want, remove
}

// admitted returns the workloads that have waited long enough, or have a buffer already, up to
// MaxBuffers in all, and begins to keep the sizes of their buffers. A workload whose buffer was asked
// for and does not exist comes last: what cannot be written keeps no other workload waiting.
func (p *Planner) admitted(in Input, existing map[string]int) map[string]Waiting {
	order := slices.DeleteFunc(slices.Clone(in.Waiting), func(w Waiting) bool { return w.Pods <= 0 })
	failed := func(w Waiting) int {
		if _, exists := existing[w.Workload]; !exists && p.sizes[w.Workload] != nil {
			return 1
		}
		return 0
	}
	slices.SortFunc(order, func(a, b Waiting) int {
		return cmp.Or(failed(a)-failed(b), a.Oldest.Compare(b.Oldest), cmp.Compare(a.Workload, b.Workload))
	})
	taken := len(existing)
	admitted := make(map[string]Waiting, len(order))
	for _, w := range order {
		if _, exists := existing[w.Workload]; !exists {
			if in.Now.Sub(w.Oldest) < p.config.ScaleUpDelay || taken >= MaxBuffers {
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
func steady(before, now Amount) Amount {
	if isNear(before.CPU, now.CPU) && isNear(before.Memory, now.Memory) {
		return before
	}
	return now
}

func isNear(before, now float64) bool {
	return max(now-before, before-now) <= steadiness*before
}
