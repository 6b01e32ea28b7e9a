package requestreport

import (
	"cmp"
	"slices"

	"github.com/spazio-scheduler/spazio/profile"
)

// workloadRow is a workload with pods.
type workloadRow struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Pods      int    `json:"pods"`
	// Undeclared pods request neither CPU nor memory.
	Undeclared int `json:"podsWithoutRequests"`
	// Requested is by all pods, Request by one of those that request it on average.
	Requested resourceAmounts `json:"requested"`
	Request   resourceAmounts `json:"requestOfPod"`
	// Need is what a pod takes, by which Confidence, from 0 to 1.
	Need       resourceAmounts `json:"needOfPod"`
	Confidence Measured        `json:"confidence"`
	// Excess is what the pods that request a resource request above their need, 0 where they
	// request less.
	Excess resourceAmounts `json:"excess"`
	// Recommended is what the containers of a pod should request, and Saving what the pods that request
	// would request less then, with what their init containers and overhead still take; it is negative
	// where they would request more.
	Recommended resourceAmounts `json:"recommendedOfPod"`
	Saving      resourceAmounts `json:"saving"`
	// Stale reports that no pod was measured for long, HorizontallyScaled that an autoscaler sets the
	// number of pods by their utilisation.
	Stale              bool `json:"stale,omitempty"`
	HorizontallyScaled bool `json:"horizontallyScaled,omitempty"`

	rank float64 // by excess, below 0 where that is unknown
}

func (w *workloadRow) profiled() bool { return w.Need.CPU.Known || w.Need.Memory.Known }

// group is what is added up of a workload's pods.
type group struct {
	workloadRow
	declared   [2]int // pods that request CPU, and memory
	containers []string
}

// addWorkloads adds a row for each workload.
func (r *Report) addWorkloads(in *Input) {
	groups := map[profile.Workload]*group{}
	for i := range in.pods {
		p := &in.pods[i]
		g := groups[p.Workload]
		if g == nil {
			g = &group{workloadRow: workloadRow{Namespace: p.Workload.Namespace, Kind: p.Workload.Kind, Name: p.Workload.Name}}
			g.Requested = resourceAmounts{Is(0), Is(0)}
			groups[p.Workload] = g
		}
		g.add(p)
	}
	for i := range in.profiles {
		if g := groups[in.profiles[i].Workload]; g != nil {
			g.apply(&in.profiles[i])
		}
	}
	for i := range in.pods {
		groups[in.pods[i].Workload].save(&in.pods[i])
	}
	var whole profile.Amounts
	for i := range in.nodes {
		whole.CPU += in.nodes[i].Allocatable.CPU
		whole.Memory += in.nodes[i].Allocatable.Memory
	}
	r.Workloads = make([]workloadRow, 0, len(groups))
	for _, g := range groups {
		g.compare(positive(whole))
		r.Workloads = append(r.Workloads, g.workloadRow)
	}
	slices.SortFunc(r.Workloads, func(a, b workloadRow) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), byName(a.names(), b.names()))
	})
}

func (w *workloadRow) names() []string { return []string{w.Namespace, w.Kind, w.Name} }

// add counts a pod.
func (g *group) add(p *boundPod) {
	g.Pods++
	if undeclared(p) {
		g.Undeclared++
	}
	if p.Requests.CPU > 0 {
		g.declared[0]++
	}
	if p.Requests.Memory > 0 {
		g.declared[1]++
	}
	g.Requested.CPU.Value += p.Requests.CPU
	g.Requested.Memory.Value += p.Requests.Memory
	for _, name := range p.Containers {
		if !slices.Contains(g.containers, name) {
			g.containers = append(g.containers, name)
		}
	}
}

// apply takes in what is known of the workload.
func (g *group) apply(p *knownProfile) {
	known := func(s profile.Share) Measured { return Measured{s.Amount, s.Confidence > 0} }
	g.Need = resourceAmounts{known(p.Need.CPU), known(p.Need.Memory)}
	g.Stale, g.HorizontallyScaled = p.Stale, p.HorizontallyScaled
	if g.profiled() {
		g.Confidence = Is(min(p.Need.CPU.Confidence, p.Need.Memory.Confidence))
	}
	g.Recommended = g.recommended(p.Containers)
}

// recommended adds up the targets of a pod's containers. It is unknown if one of them has none: the
// sum of the others would look like a saving.
func (g *group) recommended(advices []containerAdvice) (sum resourceAmounts) {
	targets := make(map[string]profile.Amounts, len(advices))
	for _, a := range advices {
		targets[a.Container] = a.Target
	}
	if whole, ok := targets[""]; ok {
		return positive(whole)
	}
	var total profile.Amounts
	cpu, memory := len(g.containers) > 0, len(g.containers) > 0
	for _, name := range g.containers {
		target := targets[name]
		cpu, memory = cpu && target.CPU > 0, memory && target.Memory > 0
		total.CPU, total.Memory = total.CPU+target.CPU, total.Memory+target.Memory
	}
	return resourceAmounts{Measured{total.CPU, cpu}.orUnknown(), Measured{total.Memory, memory}.orUnknown()}
}

// orUnknown drops the value of what is unknown.
func (m Measured) orUnknown() Measured {
	if !m.Known {
		return Measured{}
	}
	return m
}

// save adds what a pod would request less by the recommendation of what it requests.
func (g *group) save(p *boundPod) {
	add := func(saving *Measured, target Measured, requests, floor, overhead float64) {
		if target.Known && requests > 0 {
			*saving = Is(saving.Value + requests - (max(target.Value, floor) + overhead))
		}
	}
	add(&g.Saving.CPU, g.Recommended.CPU, p.Requests.CPU, p.Floor.CPU, p.Overhead.CPU)
	add(&g.Saving.Memory, g.Recommended.Memory, p.Requests.Memory, p.Floor.Memory, p.Overhead.Memory)
}

// compare holds requests against need.
func (g *group) compare(whole resourceAmounts) {
	g.rank = -1
	for i, of := range []func(*resourceAmounts) *Measured{func(a *resourceAmounts) *Measured { return &a.CPU }, func(a *resourceAmounts) *Measured { return &a.Memory }} {
		pods := float64(g.declared[i])
		if pods == 0 {
			continue
		}
		requested := of(&g.Requested).Value
		*of(&g.Request) = Is(requested / pods)
		if need := *of(&g.Need); need.Known {
			excess := Is(max(requested-pods*need.Value, 0))
			*of(&g.Excess) = excess
			g.rank = max(g.rank, share(excess, *of(&whole)).Value)
		}
	}
}

// leastConfidence is that of a profile by which savings are added up.
const leastConfidence = .5

// uncertain reports whether the workload's saving may not be one, or not be taken.
func (w *workloadRow) uncertain() bool {
	return w.Stale || w.HorizontallyScaled || w.Confidence.Value < leastConfidence
}

// savings are sums over workloads.
type savings struct {
	// Saving is what pods would request less by recommendations, Shortfall what others would
	// request more.
	Saving    resourceAmounts `json:"saving"`
	Shortfall resourceAmounts `json:"shortfall"`
	// UncertainSaving is in neither: it is by profiles that are stale or of a confidence below ½, or of
	// workloads that are scaled by utilisation.
	UncertainSaving resourceAmounts `json:"uncertainSaving"`
}

// add adds a workload's.
func (s *savings) add(w *workloadRow) {
	part := func(sign float64) resourceAmounts {
		of := func(m Measured) Measured { return Measured{max(sign*m.Value, 0), m.Known} }
		return resourceAmounts{of(w.Saving.CPU), of(w.Saving.Memory)}
	}
	if w.uncertain() {
		s.UncertainSaving = s.UncertainSaving.plus(part(1))
		return
	}
	s.Saving, s.Shortfall = s.Saving.plus(part(1)), s.Shortfall.plus(part(-1))
}

// namespaceRow is a namespace with pods.
type namespaceRow struct {
	Namespace  string `json:"namespace"`
	Pods       int    `json:"pods"`
	Undeclared int    `json:"podsWithoutRequests"`
	Workloads  int    `json:"workloads"`
	// Profiled workloads have a measured need.
	Profiled  int             `json:"profiledWorkloads"`
	Requested resourceAmounts `json:"requested"`
	Excess    resourceAmounts `json:"excess"`
	savings
}

// addNamespaces sums up workloads.
func (r *Report) addNamespaces() {
	rows := map[string]*namespaceRow{}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		n := rows[w.Namespace]
		if n == nil {
			n = &namespaceRow{Namespace: w.Namespace}
			rows[w.Namespace] = n
		}
		n.Pods += w.Pods
		n.Undeclared += w.Undeclared
		n.Workloads++
		if w.profiled() {
			n.Profiled++
		}
		n.Requested, n.Excess = n.Requested.plus(w.Requested), n.Excess.plus(w.Excess)
		n.add(w)
	}
	r.Namespaces = make([]namespaceRow, 0, len(rows))
	for _, n := range rows {
		r.Namespaces = append(r.Namespaces, *n)
	}
	slices.SortFunc(r.Namespaces, func(a, b namespaceRow) int { return cmp.Compare(a.Namespace, b.Namespace) })
}
