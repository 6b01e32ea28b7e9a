package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
)

// table is a table for people: Right marks the columns that hold numbers. A plain value.
type table struct {
	Title  string
	Header []string
	Rows   [][]string
	Right  []bool
}

// unknown stands for what is not known.
const unknown = "-"

// ListTable shows what the pods of profiled workloads take. APPLICATION, CALLS, MODE and
// CONDITIONS are "-" where there are none.
func ListTable(all []v1alpha1.WorkloadProfile) table {
	t := table{
		Header: []string{"NAMESPACE", "WORKLOAD", "CPU", "MEMORY", "CONFIDENCE", "PODS", "APPLICATION", "CALLS", "MODE", "CONDITIONS"},
		Right:  []bool{false, false, true, true, true, true, false, true},
	}
	for i := range all {
		p := &all[i]
		cpu, memory, confidence, calls := unknown, unknown, unknown, unknown
		if d := p.Status.Demand; d != nil {
			cpu, memory, confidence = d.CPU.Amount.String(), d.Memory.Amount.String(), string(d.Memory.Confidence)
		}
		if n := len(p.Status.Connections); n > 0 {
			calls = strconv.Itoa(n)
		}
		t.Rows = append(t.Rows, []string{
			p.Namespace, Workload(p), cpu, memory, confidence, strconv.FormatInt(p.Status.Pods, 10),
			orUnknown(p.Status.Application), calls, orUnknown(string(p.Spec.Mode)), orUnknown(strings.Join(holds(p), ",")),
		})
	}
	return t
}

// Workload is KIND/NAME of the workload that a profile is of.
func Workload(p *v1alpha1.WorkloadProfile) string {
	return named(p.Spec.Workload.Kind, p.Spec.Workload.Name)
}

// CallTable shows who calls whom.
func CallTable(calls []call) table {
	t := table{
		Header: []string{"NAMESPACE", "WORKLOAD", "NAMESPACE", "CALLS", "REQUEST B/S", "RESPONSE B/S"},
		Right:  []bool{false, false, false, false, true, true},
	}
	for _, c := range calls {
		t.Rows = append(t.Rows, []string{
			c.Namespace, c.Workload, c.PeerNamespace, c.Peer, strconv.FormatInt(c.Request, 10), strconv.FormatInt(c.Response, 10),
		})
	}
	return t
}

// advice is what is recommended for a container of a workload, or for its pods where
// ContainerName is empty. It is a plain value, safe for concurrent reading.
type advice struct {
	Namespace string `json:"namespace"`
	// Workload is KIND/NAME.
	Workload string `json:"workload"`
	v1alpha1.ContainerRecommendation
}

// AdviceOf is what is recommended by profiles, in their order, container by container.
func AdviceOf(all []v1alpha1.WorkloadProfile) []advice {
	advices := []advice{}
	for i := range all {
		p := &all[i]
		if p.Status.Recommendation == nil {
			continue
		}
		for _, c := range p.Status.Recommendation.ContainerRecommendations {
			advices = append(advices, advice{p.Namespace, Workload(p), c})
		}
	}
	return advices
}

// AdviceTable shows recommendations with their bounds.
func AdviceTable(advices []advice) table {
	t := table{
		Header: []string{"NAMESPACE", "WORKLOAD", "CONTAINER", "CPU", "FROM", "TO", "MEMORY", "FROM", "TO"},
		Right:  []bool{false, false, false, true, true, true, true, true, true},
	}
	for _, a := range advices {
		t.Rows = append(t.Rows, []string{
			a.Namespace, a.Workload, orUnknown(a.ContainerName), a.Target.CPU.String(), a.LowerBound.CPU.String(), a.UpperBound.CPU.String(),
			a.Target.Memory.String(), a.LowerBound.Memory.String(), a.UpperBound.Memory.String(),
		})
	}
	return t
}

func orUnknown(text string) string {
	if text == "" {
		return unknown
	}
	return text
}

// call is what goes between a workload and one that it calls, in bytes a second. It is a
// plain value, safe for concurrent use.
type call struct {
	Namespace string `json:"namespace"`
	// Workload and Peer are KIND/NAME, or a name alone where the kind is not known.
	Workload      string `json:"workload"`
	PeerNamespace string `json:"peerNamespace"`
	Peer          string `json:"peer"`
	Request       int64  `json:"requestBytesPerSecond"`
	Response      int64  `json:"responseBytesPerSecond"`
}

// Calls are those of profiles, in their order; of each those that carry most first.
func Calls(all []v1alpha1.WorkloadProfile) []call {
	calls := []call{}
	for i := range all {
		p := &all[i]
		for _, c := range p.Status.Connections {
			calls = append(calls, call{
				Namespace: p.Namespace, Workload: named(p.Spec.Workload.Kind, p.Spec.Workload.Name),
				PeerNamespace: c.Namespace, Peer: named(c.Kind, c.Name), Request: c.RequestBytesPerSecond, Response: c.ResponseBytesPerSecond,
			})
		}
	}
	return calls
}

func named(kind, name string) string {
	if kind == "" {
		return name
	}
	return kind + "/" + name
}

// Text describes a profile at a time, in lines.
func Text(at time.Time, p *v1alpha1.WorkloadProfile) string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", what, fmt.Sprintf(format, args...))
	}
	s := &p.Status
	line("workload", "%s/%s in namespace %s", p.Spec.Workload.Kind, p.Spec.Workload.Name, p.Namespace)
	if s.ObservedAt == nil || s.Demand == nil {
		line("measured", "not yet")
		return b.String()
	}
	line("measured", "%s ago, of %s%s", at.Sub(s.ObservedAt.Time).Round(time.Second), pods(s.Pods), revision(s.Revision))
	line("demand", "%s", demand(*s.Demand))
	for i, d := range s.Slots {
		from := 24 * 60 * i / len(s.Slots)
		line(fmt.Sprintf("  from %02d:%02d", from/60, from%60), "%s", demand(d))
	}
	if l := s.Lifetime; l != nil {
		line("lives", "half of the pods up to %s, nine of ten up to %s", l.P50.Round(time.Second/10), l.P90.Round(time.Second/10))
	}
	if r := s.Recommendation; r != nil {
		for _, c := range r.ContainerRecommendations {
			name := c.ContainerName
			if name == "" {
				name = "the pod"
			}
			line("recommended", "%s: cpu %s (%s to %s), memory %s (%s to %s)%s", name,
				&c.Target.CPU, &c.LowerBound.CPU, &c.UpperBound.CPU, &c.Target.Memory, &c.LowerBound.Memory, &c.UpperBound.Memory, uncapped(c))
		}
	}
	if s.Application != "" {
		line("application", "%s", s.Application)
	}
	for _, c := range s.Connections {
		line("connection", "%s %s/%s: %d B/s, answered by %d B/s", c.Kind, c.Namespace, c.Name, c.RequestBytesPerSecond, c.ResponseBytesPerSecond)
	}
	if s.Throttled != "" {
		line("throttled", "in %s of the periods of its CPU limit", s.Throttled)
	}
	if s.OOMKills > 0 {
		line("killed", "for want of memory: %d", s.OOMKills)
	}
	if held := holds(p); len(held) > 0 {
		line("conditions", "%s", strings.Join(held, ", "))
	}
	return b.String()
}

func pods(n int64) string {
	if n == 1 {
		return "1 pod"
	}
	return strconv.FormatInt(n, 10) + " pods"
}

func revision(name string) string {
	if name == "" {
		return ""
	}
	return ", revision " + name
}

func demand(d v1alpha1.Demand) string {
	share := func(s v1alpha1.Share) string {
		return fmt.Sprintf("%s ± %s (confidence %s)", &s.Amount, &s.SD, s.Confidence)
	}
	return "cpu " + share(d.CPU) + ", memory " + share(d.Memory)
}

// uncapped says what the target would be where bounds hold it.
func uncapped(c v1alpha1.ContainerRecommendation) string {
	if c.UncappedTarget.CPU.Cmp(c.Target.CPU) == 0 && c.UncappedTarget.Memory.Cmp(c.Target.Memory) == 0 {
		return ""
	}
	return fmt.Sprintf("; without its bounds cpu %s, memory %s", &c.UncappedTarget.CPU, &c.UncappedTarget.Memory)
}
