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

// risk is a reason why a node is at risk.
type risk string

// Reasons.
const (
	// tasksWait: more tasks than CPUs are to run.
	tasksWait risk = "tasks wait for a CPU"
	// cpuFull: the CPUs are nearly all busy; whether tasks wait is unknown.
	cpuFull risk = "the CPU is nearly full"
	// memoryFull: the memory is nearly used up.
	memoryFull risk = "memory is nearly full"
	// noRoom: requests leave space, but no typical pod fits by measurement.
	noRoom risk = "requests leave space where there is no room"
)

// nodeRow is a node.
type nodeRow struct {
	Name string `json:"name"`
	Pods int    `json:"pods"`
	// Undeclared pods request neither CPU nor memory.
	Undeclared  int             `json:"podsWithoutRequests"`
	Capacity    resourceAmounts `json:"capacity"`
	Allocatable resourceAmounts `json:"allocatable"`
	Requested   resourceAmounts `json:"requested"`
	Used        usageSummary    `json:"used"`
	// Room is the mean over the measured time.
	Room nodeRoom `json:"room"`
	// Spans of ten seconds were measured.
	Spans int `json:"measuredSpans"`
	// NoPressure reports that the node does not count tasks that wait for a CPU, Unschedulable that it
	// takes no pods.
	NoPressure    bool `json:"noPressure,omitempty"`
	Unschedulable bool `json:"unschedulable,omitempty"`
	// Idle reports whether the node is full by requests and idle by measurement; nil if that is unknown.
	Idle  *bool  `json:"idle"`
	Risks []risk `json:"risks,omitempty"`
}

// addNodes adds a row for each node.
func (r *Report) addNodes(in *Input) {
	type load struct {
		pods, undeclared int
		requested        profile.Amounts
	}
	loads := make(map[string]*load, len(in.nodes))
	for i := range in.nodes {
		loads[in.nodes[i].Name] = &load{}
	}
	for i := range in.pods {
		p := &in.pods[i]
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
	r.Nodes = make([]nodeRow, 0, len(in.nodes))
	for i := range in.nodes {
		n := &in.nodes[i]
		l := loads[n.Name]
		row := nodeRow{
			Name: n.Name, Pods: l.pods, Undeclared: l.undeclared,
			Unschedulable: n.Unschedulable, Capacity: positive(n.Capacity), Allocatable: positive(n.Allocatable), Used: n.Use.usage(), Room: n.Use.averageRoom(),
		}
		if n.Use != nil {
			row.Spans, row.NoPressure = len(n.Use.spans), n.Use.noPressure
		}
		if in.requests {
			row.Requested = resourceAmounts{Is(l.requested.CPU), Is(l.requested.Memory)}
		}
		row.judge()
		r.Nodes = append(r.Nodes, row)
	}
	slices.SortFunc(r.Nodes, func(a, b nodeRow) int { return cmp.Compare(a.Name, b.Name) })
}

// positive has 0 as unknown.
func positive(a profile.Amounts) resourceAmounts {
	known := func(v float64) Measured { return Measured{v, v > 0} }
	return resourceAmounts{known(a.CPU), known(a.Memory)}
}

func undeclared(p *boundPod) bool { return p.Requests == profile.Amounts{} }

// isJudged reports whether enough was measured for a verdict.
func (n *nodeRow) isJudged() bool { return n.Spans >= leastJudged }

// isIdle reports whether the node is known to be idle.
func (n *nodeRow) isIdle() bool { return n.Idle != nil && *n.Idle }

// judge finds whether the node is idle or at risk, as far as what that takes is known.
func (n *nodeRow) judge() {
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
		n.Risks = append(n.Risks, tasksWait)
	case n.NoPressure && cpu.Value >= cpuRisk:
		n.Risks = append(n.Risks, cpuFull)
	}
	if memory.Value >= memoryRisk {
		n.Risks = append(n.Risks, memoryFull)
	}
	if !full && !n.Unschedulable && n.Requested.CPU.Known && n.Room.Pods.Known && n.Room.Pods.Value < 1 {
		n.Risks = append(n.Risks, noRoom)
	}
}

// share is a part of a whole, unknown if one of them is.
func share(part, whole Measured) Measured {
	if !part.Known || !whole.Known || !(whole.Value > 0) {
		return Measured{}
	}
	return Is(part.Value / whole.Value)
}
