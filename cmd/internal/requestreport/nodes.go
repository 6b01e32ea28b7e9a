package requestreport

import (
	"cmp"
	"slices"

	"github.com/spazio-scheduler/spazio/profile"
)

// The shares by which nodes are judged.
const (
	// fullShare is of the allocatable: what is left of it fits few pods.
	fullShare = .9
	// idleShare is of the capacity: as much again would fit.
	idleShare = .5
	// memoryRisk is of the capacity: what is left is about what the kubelet evicts at.
	memoryRisk = .9
	// cpuRisk is of the capacity, where tasks that wait for a CPU are not counted.
	cpuRisk = .95
	// leastJudged is how many spans a verdict takes: one may be of a single moment.
	leastJudged = 2
)

// Risk is a reason why a node is at risk.
type Risk string

// Reasons.
const (
	// TasksWait: more tasks than CPUs are to run.
	TasksWait Risk = "tasks wait for a CPU"
	// CPUFull: the CPUs are nearly all busy; whether tasks wait is unknown.
	CPUFull Risk = "the CPU is nearly full"
	// MemoryFull: the memory is nearly used up.
	MemoryFull Risk = "memory is nearly full"
	// NoRoom: requests leave space, but no typical pod fits by measurement.
	NoRoom Risk = "requests leave space where there is no room"
)

// NodeRow is a node.
type NodeRow struct {
	Name string `json:"name"`
	Pods int    `json:"pods"`
	// Undeclared pods request neither CPU nor memory.
	Undeclared  int     `json:"podsWithoutRequests"`
	Capacity    Amounts `json:"capacity"`
	Allocatable Amounts `json:"allocatable"`
	Requested   Amounts `json:"requested"`
	Used        Usage   `json:"used"`
	// Room is the mean over the measured time.
	Room Room `json:"room"`
	// Spans of ten seconds were measured.
	Spans int `json:"measuredSpans"`
	// NoPressure reports that the node does not count tasks that wait for a CPU, Unschedulable that it
	// takes no pods.
	NoPressure    bool `json:"noPressure,omitempty"`
	Unschedulable bool `json:"unschedulable,omitempty"`
	// Idle reports whether the node is full by requests and idle by measurement; nil if that is unknown.
	Idle  *bool  `json:"idle"`
	Risks []Risk `json:"risks,omitempty"`
}

// addNodes adds a row for each node.
func (r *Report) addNodes(in *Input) {
	type load struct {
		pods, undeclared int
		requested        profile.Amounts
	}
	loads := make(map[string]*load, len(in.Nodes))
	for i := range in.Nodes {
		loads[in.Nodes[i].Name] = &load{}
	}
	for i := range in.Pods {
		p := &in.Pods[i]
		l := loads[p.Node]
		if l == nil {
			continue // of a node that has gone
		}
		l.pods++
		if undeclared(p) {
			l.undeclared++
		}
		l.requested.CPU += p.Requests.CPU
		l.requested.Memory += p.Requests.Memory
	}
	r.Nodes = make([]NodeRow, 0, len(in.Nodes))
	for i := range in.Nodes {
		n := &in.Nodes[i]
		l := loads[n.Name]
		row := NodeRow{
			Name: n.Name, Pods: l.pods, Undeclared: l.undeclared,
			Unschedulable: n.Unschedulable, Capacity: positive(n.Capacity), Allocatable: positive(n.Allocatable), Used: n.Use.usage(), Room: n.Use.averageRoom(),
		}
		if n.Use != nil {
			row.Spans, row.NoPressure = len(n.Use.spans), n.Use.noPressure
		}
		if in.Requests {
			row.Requested = Amounts{Is(l.requested.CPU), Is(l.requested.Memory)}
		}
		row.judge()
		r.Nodes = append(r.Nodes, row)
	}
	slices.SortFunc(r.Nodes, func(a, b NodeRow) int { return cmp.Compare(a.Name, b.Name) })
}

// positive has 0 as unknown.
func positive(a profile.Amounts) Amounts {
	known := func(v float64) Measured { return Measured{v, v > 0} }
	return Amounts{known(a.CPU), known(a.Memory)}
}

func undeclared(p *Pod) bool { return p.Requests == profile.Amounts{} }

// isJudged reports whether enough was measured for a verdict.
func (n *NodeRow) isJudged() bool { return n.Spans >= leastJudged }

// isIdle reports whether the node is known to be idle.
func (n *NodeRow) isIdle() bool { return n.Idle != nil && *n.Idle }

// judge finds whether the node is idle or at risk, as far as what that takes is known.
func (n *NodeRow) judge() {
	if !n.isJudged() {
		return
	}
	used := n.Used.typical()
	cpu, memory := share(used.CPU, n.Capacity.CPU), share(used.Memory, n.Capacity.Memory)
	ofCPU, ofMemory := share(n.Requested.CPU, n.Allocatable.CPU), share(n.Requested.Memory, n.Allocatable.Memory)
	full := ofCPU.Value >= fullShare || ofMemory.Value >= fullShare
	if ofCPU.Known && ofMemory.Known && cpu.Known && memory.Known {
		n.Idle = new(full && cpu.Value < idleShare && memory.Value < idleShare)
	}
	switch {
	case cpu.Value > 1:
		n.Risks = append(n.Risks, TasksWait)
	case n.NoPressure && cpu.Value >= cpuRisk:
		n.Risks = append(n.Risks, CPUFull)
	}
	if memory.Value >= memoryRisk {
		n.Risks = append(n.Risks, MemoryFull)
	}
	if !full && !n.Unschedulable && n.Requested.CPU.Known && n.Room.Pods.Known && n.Room.Pods.Value < 1 {
		n.Risks = append(n.Risks, NoRoom)
	}
}

// share is a part of a whole, unknown if one of them is.
func share(part, whole Measured) Measured {
	if !part.Known || !whole.Known || !(whole.Value > 0) {
		return Measured{}
	}
	return Is(part.Value / whole.Value)
}
