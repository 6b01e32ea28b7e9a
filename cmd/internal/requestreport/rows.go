package requestreport

import (
	"math"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// rowColumns are those of Rows: cores and bytes. An empty cell is unknown, or means nothing of that kind
// of row.
var rowColumns = []string{
	"kind", "node", "namespace", "workload_kind", "workload", "pods", "pods_without_requests",
	"allocatable_cpu", "allocatable_memory", "requested_cpu", "requested_memory",
	"used_cpu_mean", "used_cpu_p95", "used_cpu_p99", "used_memory_mean", "used_memory_p95", "used_memory_p99",
	"room_pods", "room_cpu", "room_memory",
	"request_of_pod_cpu", "request_of_pod_memory", "need_of_pod_cpu", "need_of_pod_memory", "confidence",
	"recommended_of_pod_cpu", "recommended_of_pod_memory", "recommended_cpu", "recommended_memory", "excess_cpu", "excess_memory",
	"saving_cpu", "saving_memory", "shortfall_cpu", "shortfall_memory", "uncertain_saving_cpu", "uncertain_saving_memory", "remark",
}

// Rows is the report for a spreadsheet: a row of kind total, and one for each node, namespace and
// workload.
func (r *Report) Rows() text.Table {
	t := text.Table{Header: rowColumns}
	total := row{"kind": "total"}
	total.pods(r.Total.Pods, r.Total.Undeclared)
	total.amounts("allocatable", r.Total.Allocatable)
	total.amounts("requested", r.Total.Requested)
	total.measured(r.Total.Used, r.Total.Room)
	total.amounts("recommended", r.Total.Recommended)
	total.amounts("saving", r.Total.Saving)
	total.amounts("shortfall", r.Total.Shortfall)
	total.amounts("uncertain_saving", r.Total.UncertainSaving)
	total.addTo(&t)
	for i := range r.Nodes {
		nodeRecord(&r.Nodes[i]).addTo(&t)
	}
	for i := range r.Namespaces {
		n := &r.Namespaces[i]
		one := row{"kind": "namespace", "namespace": n.Namespace}
		one.pods(n.Pods, n.Undeclared)
		one.amounts("requested", n.Requested)
		one.amounts("excess", n.Excess)
		one.amounts("saving", n.Saving)
		one.amounts("shortfall", n.Shortfall)
		one.amounts("uncertain_saving", n.UncertainSaving)
		one.addTo(&t)
	}
	for i := range r.Workloads {
		workloadRecord(&r.Workloads[i]).addTo(&t)
	}
	return t
}

func nodeRecord(n *nodeRow) row {
	remarks := riskWords(n.Risks)
	if n.isIdle() {
		remarks = append(remarks, "full by requests, idle by measurement")
	}
	if n.Unschedulable {
		remarks = append(remarks, "takes no pods")
	}
	one := row{"kind": "node", "node": n.Name, "remark": strings.Join(remarks, "; ")}
	one.pods(n.Pods, n.Undeclared)
	one.amounts("allocatable", n.Allocatable)
	one.amounts("requested", n.Requested)
	one.measured(n.Used, n.Room)
	return one
}

func workloadRecord(w *workloadRow) row {
	one := row{"kind": "workload", "namespace": w.Namespace, "workload_kind": w.Kind, "workload": w.Name}
	var remarks []string
	if w.Stale {
		remarks = append(remarks, "stale")
	}
	if w.HorizontallyScaled {
		remarks = append(remarks, "scaled by utilisation")
	}
	one["remark"] = strings.Join(remarks, "; ")
	one.pods(w.Pods, w.Undeclared)
	one.amounts("requested", w.Requested)
	one.amounts("request_of_pod", w.Request)
	one.amounts("need_of_pod", w.Need)
	one.set("confidence", w.Confidence)
	one.amounts("recommended_of_pod", w.Recommended)
	one.amounts("excess", w.Excess)
	one.amounts("saving", w.Saving)
	return one
}

// row is the cells of a row by their columns.
type row map[string]string

func (r row) set(column string, m Measured) {
	if m.Known {
		r[column] = strconv.FormatFloat(math.Round(m.Value*1e6)/1e6, 'f', -1, 64) // a spreadsheet has no exponents
	}
}

func (r row) amounts(what string, a resourceAmounts) {
	r.set(what+"_cpu", a.CPU)
	r.set(what+"_memory", a.Memory)
}

func (r row) pods(all, undeclared int) {
	r["pods"], r["pods_without_requests"] = strconv.Itoa(all), strconv.Itoa(undeclared)
}

func (r row) measured(u usageSummary, room nodeRoom) {
	for _, of := range []struct {
		name string
		resourceAmounts
	}{{"mean", u.Mean}, {"p95", u.P95}, {"p99", u.P99}} {
		r.set("used_cpu_"+of.name, of.CPU)
		r.set("used_memory_"+of.name, of.Memory)
	}
	r.set("room_pods", room.Pods)
	r.amounts("room", room.resourceAmounts)
}

// asText has a spreadsheet take a cell as text: others choose names, and one that begins as a formula
// does would be run.
func asText(cell string) string {
	if strings.ContainsAny(cell[:min(len(cell), 1)], "=+-@\t\r") {
		cell = "'" + cell
	}
	return text.Plain(cell)
}

func (r row) addTo(t *text.Table) {
	cells := make([]string, len(rowColumns))
	for i, column := range rowColumns {
		cells[i] = r[column]
		if _, err := strconv.ParseFloat(cells[i], 64); err != nil {
			cells[i] = asText(cells[i])
		}
	}
	t.Rows = append(t.Rows, cells)
}
