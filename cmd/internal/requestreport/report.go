package requestreport

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Report compares requests with measurements.
type Report struct {
	MadeAt time.Time `json:"madeAt"`
	Source string    `json:"source"`
	// From and To bound the measured use; both are absent where none was measured.
	From  time.Time    `json:"from,omitzero"`
	To    time.Time    `json:"to,omitzero"`
	Total clusterTotal `json:"total"`
	// Nodes are in the order of their names.
	Nodes []nodeRow `json:"nodes"`
	// Workloads are in the order of their excess, the largest first; those of which it is
	// unknown are last.
	Workloads []workloadRow `json:"workloads"`
	// Namespaces are in the order of their names.
	Namespaces []namespaceRow `json:"namespaces"`
	// Notes are sentences about what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// clusterTotal is of the whole cluster.
type clusterTotal struct {
	Nodes int `json:"nodes"`
	// MeasuredNodes have samples, IdleNodes are full by requests and idle by measurement. Those and
	// NodesAtRisk are of the nodes that were measured for long enough, and unknown without any.
	MeasuredNodes int      `json:"measuredNodes"`
	IdleNodes     Measured `json:"idleNodes"`
	NodesAtRisk   Measured `json:"nodesAtRisk"`
	Pods          int      `json:"pods"`
	// Undeclared pods request neither CPU nor memory.
	Undeclared int `json:"podsWithoutRequests"`
	Workloads  int `json:"workloads"`
	// Profiled workloads have a measured need.
	Profiled    int             `json:"profiledWorkloads"`
	Allocatable resourceAmounts `json:"allocatable"`
	// Measured is what is allocatable on nodes with samples, of which Used and Room are.
	Measured  resourceAmounts `json:"allocatableOfMeasuredNodes"`
	Requested resourceAmounts `json:"requested"`
	Used      usageSummary    `json:"used"`
	Room      nodeRoom        `json:"room"`
	savings
	// Recommended is what all pods would request with Saving and Shortfall, unknown without any.
	Recommended resourceAmounts `json:"recommended"`
}

// New makes the report. The error is a *field.Error that names the part of the input.
func New(in Input) (*Report, error) {
	if err := in.validate(); err != nil {
		return nil, err
	}
	r := &Report{MadeAt: in.madeAt, Source: in.source, Nodes: []nodeRow{}, Workloads: []workloadRow{}, Namespaces: []namespaceRow{}}
	r.From, r.To = period(in.nodes)
	r.addNodes(&in)
	r.addWorkloads(&in)
	r.addNamespaces()
	r.addTotal(&in)
	r.Notes = append(slices.Clone(in.notes), r.unknowns(&in)...)
	return r, nil
}

// addTotal sums up nodes and workloads.
func (r *Report) addTotal(in *Input) {
	t := &r.Total
	t.Nodes, t.Pods, t.Workloads, t.Used = len(in.nodes), len(in.pods), len(r.Workloads), totalUsage(in.nodes)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Spans > 0 {
			t.MeasuredNodes++
			t.Measured = t.Measured.plus(n.Allocatable)
		}
		if n.isJudged() {
			t.NodesAtRisk = t.NodesAtRisk.plus(oneIf(len(n.Risks) > 0))
		}
		if n.Idle != nil {
			t.IdleNodes = t.IdleNodes.plus(oneIf(*n.Idle))
		}
		t.Allocatable = t.Allocatable.plus(n.Allocatable)
		if !n.Unschedulable {
			t.Room = t.Room.plus(n.Room)
		}
	}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		t.Undeclared += w.Undeclared
		if w.profiled() {
			t.Profiled++
		}
		t.Requested = t.Requested.plus(w.Requested)
		t.add(w)
	}
	if in.requests && len(in.pods) == 0 {
		t.Requested = resourceAmounts{Is(0), Is(0)}
	}
	t.Recommended = resourceAmounts{then(t.Requested.CPU, t.Saving.CPU, t.Shortfall.CPU), then(t.Requested.Memory, t.Saving.Memory, t.Shortfall.Memory)}
}

func oneIf(is bool) Measured {
	if is {
		return Is(1)
	}
	return Is(0)
}

// plus is the sum of rooms, of which those below zero add nothing.
func (r nodeRoom) plus(of nodeRoom) nodeRoom {
	for _, m := range []*Measured{&of.Pods, &of.CPU, &of.Memory} {
		m.Value = max(m.Value, 0)
	}
	return nodeRoom{r.Pods.plus(of.Pods), r.resourceAmounts.plus(of.resourceAmounts)}
}

// then is what would be requested by recommendations.
func then(requested, saving, shortfall Measured) Measured {
	if !saving.Known {
		return Measured{}
	}
	return Is(requested.Value - saving.Value + shortfall.Value)
}

// unknowns are sentences about what is missing.
func (r *Report) unknowns(in *Input) (notes []string) {
	t := &r.Total
	if !in.requests {
		notes = append(notes, "No pods were read: what is requested is unknown.")
	}
	if missing := t.Nodes - t.MeasuredNodes; missing > 0 {
		notes = append(notes, fmt.Sprintf("Nodes of which nothing was measured: %d of %d. Their use and room are unknown, and totals of use and room are of the others.", missing, t.Nodes))
	}
	if closed := r.count(func(n *nodeRow) bool { return n.Unschedulable && n.Spans > 0 }); closed > 0 {
		notes = append(notes, fmt.Sprintf("Measured nodes that take no pods, since they are cordoned or not ready: %d. The total room is of the others.", closed))
	}
	if blind := r.count(func(n *nodeRow) bool { return n.NoPressure }); blind > 0 {
		notes = append(notes, fmt.Sprintf("Nodes without pressure data: %d of %d. Tasks that wait for a CPU are not counted there; 95 %% of the CPU in use is a risk.", blind, t.MeasuredNodes))
	}
	if once := r.count(func(n *nodeRow) bool { return n.Spans == 1 }); once > 0 {
		notes = append(notes, fmt.Sprintf("Nodes of which there is one value: %d. That does not show whether they are idle or at risk.", once))
	}
	if missing := t.Workloads - t.Profiled; missing > 0 {
		notes = append(notes, fmt.Sprintf("Workloads without a profile: %d of %d. Their need is unknown.", missing, t.Workloads))
	}
	if t.MeasuredNodes > 0 && !t.Used.P99.CPU.Known {
		notes = append(notes, r.shortOf())
	}
	return notes
}

// count counts nodes.
func (r *Report) count(is func(*nodeRow) bool) int { return len(r.chosen(is)) }

// shortOf explains why a percentile of the total is unknown.
func (r *Report) shortOf() string {
	if measured := r.To.Sub(r.From); measured < least99*spanLength {
		return fmt.Sprintf("Use was measured for %v: a p95 takes %v, a p99 takes %v.", measured, least95*spanLength, least99*spanLength)
	}
	return fmt.Sprintf("Fewer than %d spans of %v have a value of nine of ten nodes: the p99 of the total is unknown.", least99, spanLength)
}

// byName compares in the order of the parts.
func byName(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int { return cmp.Compare(x, y) })
}
