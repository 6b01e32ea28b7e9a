package view

import (
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
)

// Table is a table for people: Right marks the columns that hold numbers. A plain value.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
	Right  []bool
}

// unknown stands for what is not known.
const unknown = "-"

// ListTable shows what the pods of profiled workloads take. APPLICATION, CALLS, MODE and
// CONDITIONS are "-" where there are none.
func ListTable(all []v1alpha1.WorkloadProfile) Table {
	t := Table{
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
func CallTable(calls []Call) Table {
	t := Table{
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

// Advice is what is recommended for a container of a workload, or for its pods where
// ContainerName is empty. It is a plain value, safe for concurrent reading.
type Advice struct {
	Namespace string `json:"namespace"`
	// Workload is KIND/NAME.
	Workload string `json:"workload"`
	v1alpha1.ContainerRecommendation
}

// AdviceOf is what is recommended by profiles, in their order, container by container.
func AdviceOf(all []v1alpha1.WorkloadProfile) []Advice {
	advices := []Advice{}
	for i := range all {
		p := &all[i]
		if p.Status.Recommendation == nil {
			continue
		}
		for _, c := range p.Status.Recommendation.ContainerRecommendations {
			advices = append(advices, Advice{p.Namespace, Workload(p), c})
		}
	}
	return advices
}

// AdviceTable shows recommendations with their bounds.
func AdviceTable(advices []Advice) Table {
	t := Table{
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
