package requestreport

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// most is how many rows a table for people has; JSON and CSV have all.
const most = 20

// unknown stands in tables for what is not known.
const unknown = "-"

// WriteText writes tables whose lines are no longer than width, as far as that goes; 0 is no bound.
func (r *Report) WriteText(w io.Writer, width int) error {
	words := append(r.summary(), r.Notes...)
	for _, line := range words {
		if _, err := fmt.Fprintln(w, text.Fold(text.Plain(line), width)); err != nil {
			return err
		}
	}
	for _, t := range r.tables() {
		if len(t.Rows) == 0 {
			continue
		}
		t.Title = "\n" + t.Title
		if err := t.WriteText(w, width); err != nil {
			return err
		}
	}
	return nil
}

// summary is the report in some sentences.
func (r *Report) summary() []string {
	t := &r.Total
	lines := []string{fmt.Sprintf("Requests and measured use of %s, %s.", r.Source, r.MadeAt.UTC().Format(time.RFC3339))}
	if !r.From.IsZero() {
		lines = append(lines, fmt.Sprintf("Use was measured from %s to %s on %s of %d.", r.From.Format(time.RFC3339), r.To.Format(time.RFC3339), text.Count(t.MeasuredNodes, "node"), t.Nodes))
	}
	lines = append(lines, fmt.Sprintf("%s of %s; pods that declare no requests: %d.", text.Count(t.Pods, "pod"), text.Count(t.Workloads, "workload"), t.Undeclared))
	if requested, used := share(t.Requested.CPU, t.Allocatable.CPU), share(t.Used.Mean.CPU, t.Measured.CPU); requested.Known && used.Known {
		memory := fmt.Sprintf("of the memory %s and %s", percent(share(t.Requested.Memory, t.Allocatable.Memory)), percent(share(t.Used.Mean.Memory, t.Measured.Memory)))
		lines = append(lines, fmt.Sprintf("Of the CPU %s is requested and %s is used or waited for on average, %s.", percent(requested), percent(used), memory))
	}
	// The notes tell why something is not known of nodes.
	var verdicts []string
	if t.IdleNodes.Known {
		verdicts = append(verdicts, text.Count(int(t.IdleNodes.Value), "node")+" full by requests but idle by measurement")
	}
	if t.NodesAtRisk.Known {
		verdicts = append(verdicts, text.Count(int(t.NodesAtRisk.Value), "node")+" at risk")
	}
	if len(verdicts) > 0 {
		lines = append(lines, strings.Join(verdicts, "; ")+".")
	}
	return lines
}

// tables are the tables for people, each of at most so many rows.
func (r *Report) tables() []text.Table {
	return []text.Table{r.totalTable(), r.idleTable(), r.riskTable(), r.excessTable(), r.namespaceTable(), r.undeclaredTable(), r.nodeTable()}
}

// totalTable has a row for CPU and one for memory.
func (r *Report) totalTable() text.Table {
	t := text.Table{
		Title:  "Total: saving is what pods would request less by recommendations, shortfall what others would request more; uncertain savings are in neither",
		Header: []string{"RESOURCE", "ALLOCATABLE", "REQUESTED", "MEAN USE", "P95", "P99", "ROOM", "SAVING", "SHORTFALL", "UNCERTAIN"},
		Right:  []bool{false, true, true, true, true, true, true, true, true, true},
	}
	of := &r.Total
	amounts := []resourceAmounts{of.Allocatable, of.Requested, of.Used.Mean, of.Used.P95, of.Used.P99, of.Room.resourceAmounts, of.Saving, of.Shortfall, of.UncertainSaving}
	cpu, memory := []string{"CPU, cores"}, []string{"memory, GiB"}
	for _, a := range amounts {
		cpu, memory = append(cpu, cores(a.CPU)), append(memory, gib(a.Memory))
	}
	pods := []string{"typical pods", "", "", "", "", "", number(of.Room.Pods, 1, 1)}
	t.Rows = [][]string{cpu, memory, pods}
	return t
}

// nodeColumns are those of tables of nodes.
var nodeColumns = []string{"NODE", "PODS", "CPU REQUESTED", "MEAN USE", "P95", "P99", "MEMORY REQUESTED", "MEAN USE", "P95", "P99", "ROOM PODS", "CORES", "GIB"}

// nodesTable shows nodes: requests as shares of the allocatable, use of the capacity.
func nodesTable(title string, nodes []nodeRow) text.Table {
	t := text.Table{Title: title, Header: nodeColumns, Right: slices.Repeat([]bool{true}, len(nodeColumns))}
	t.Right[0] = false
	for i := range nodes[:min(len(nodes), most)] {
		n := &nodes[i]
		row := []string{n.Name, strconv.Itoa(n.Pods), percent(share(n.Requested.CPU, n.Allocatable.CPU))}
		for _, m := range []Measured{n.Used.Mean.CPU, n.Used.P95.CPU, n.Used.P99.CPU} {
			row = append(row, percent(share(m, n.Capacity.CPU)))
		}
		row = append(row, percent(share(n.Requested.Memory, n.Allocatable.Memory)))
		for _, m := range []Measured{n.Used.Mean.Memory, n.Used.P95.Memory, n.Used.P99.Memory} {
			row = append(row, percent(share(m, n.Capacity.Memory)))
		}
		t.Rows = append(t.Rows, append(row, number(n.Room.Pods, 1, 1), cores(n.Room.CPU), gib(n.Room.Memory)))
	}
	return t
}

// titled returns a title that names how many rows there are if not all are shown.
func titled(all int, what string) string {
	if all <= most {
		return what
	}
	return fmt.Sprintf("%s (the first %d of %d; -o csv has all)", what, most, all)
}

// chosen are the nodes for which is holds.
func (r *Report) chosen(is func(*nodeRow) bool) (nodes []nodeRow) {
	for i := range r.Nodes {
		if is(&r.Nodes[i]) {
			nodes = append(nodes, r.Nodes[i])
		}
	}
	return nodes
}

// idleTable has those first that request most above their use.
func (r *Report) idleTable() text.Table {
	idle := r.chosen((*nodeRow).isIdle)
	unused := func(n *nodeRow) float64 { return n.Requested.CPU.Value - n.Used.Mean.CPU.Value }
	slices.SortStableFunc(idle, func(a, b nodeRow) int { return cmp.Compare(unused(&b), unused(&a)) })
	return nodesTable(titled(len(idle), "Nodes full by requests but idle by measurement"), idle)
}

// riskTable has those first that have most reasons.
func (r *Report) riskTable() text.Table {
	risky := r.chosen(func(n *nodeRow) bool { return len(n.Risks) > 0 })
	slices.SortStableFunc(risky, func(a, b nodeRow) int { return cmp.Compare(len(b.Risks), len(a.Risks)) })
	t := nodesTable(titled(len(risky), "Nodes at risk"), risky)
	t.Header = append(slices.Clone(t.Header), "REASON")
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], strings.Join(riskWords(risky[i].Risks), "; "))
	}
	return t
}

func riskWords(risks []risk) (words []string) {
	for _, r := range risks {
		words = append(words, string(r))
	}
	return words
}

// nodeTable has the nodes by name.
func (r *Report) nodeTable() text.Table { return nodesTable(titled(len(r.Nodes), "Nodes"), r.Nodes) }

// excessTable has the workloads that request most above their need.
func (r *Report) excessTable() text.Table {
	t := text.Table{
		Title:  "Workloads that request most above their need: cores and MiB of a pod, and of all its pods the saving",
		Header: []string{"NAMESPACE", "WORKLOAD", "PODS", "CPU REQUEST", "NEED", "RECOMMENDED", "SAVING", "MEMORY REQUEST", "NEED", "RECOMMENDED", "SAVING", "CONFIDENCE"},
	}
	t.Right = slices.Repeat([]bool{true}, len(t.Header))
	t.Right[0], t.Right[1] = false, false
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if w.rank <= 0 || len(t.Rows) == most {
			break
		}
		t.Add(w.Namespace, w.title(), strconv.Itoa(w.Pods),
			fine(w.Request.CPU), fine(w.Need.CPU), fine(w.Recommended.CPU), cores(w.Saving.CPU),
			mib(w.Request.Memory), mib(w.Need.Memory), mib(w.Recommended.Memory), mib(w.Saving.Memory), w.confidence())
	}
	return t
}

// longestTitle is in columns: an annotation, which may have 250 KiB, can name a workload.
const longestTitle = 100

// title is the workload's kind and name, for people.
func (w *workloadRow) title() string {
	return text.Shorten(text.Plain(w.Kind+"/"+w.Name), longestTitle)
}

// confidence marks what was not measured for long, and what is scaled by utilisation.
func (w *workloadRow) confidence() string {
	switch {
	case w.Stale:
		return "stale"
	case w.HorizontallyScaled:
		return "scaled"
	}
	return number(w.Confidence, 1, 2)
}

// namespaceTable has those first that would save the largest share.
func (r *Report) namespaceTable() text.Table {
	rows := slices.Clone(r.Namespaces)
	rank := func(n *namespaceRow) float64 {
		return max(share(n.Saving.CPU, r.Total.Allocatable.CPU).Value, share(n.Saving.Memory, r.Total.Allocatable.Memory).Value)
	}
	slices.SortStableFunc(rows, func(a, b namespaceRow) int { return cmp.Compare(rank(&b), rank(&a)) })
	t := text.Table{
		Title:  titled(len(rows), "Namespaces: cores and GiB"),
		Header: []string{"NAMESPACE", "PODS", "NO REQUESTS", "PROFILED", "CPU REQUESTED", "SAVING", "SHORTFALL", "MEMORY REQUESTED", "SAVING", "SHORTFALL"},
	}
	t.Right = slices.Repeat([]bool{true}, len(t.Header))
	t.Right[0] = false
	for i := range rows[:min(len(rows), most)] {
		n := &rows[i]
		t.Add(n.Namespace, strconv.Itoa(n.Pods), strconv.Itoa(n.Undeclared), fmt.Sprintf("%d of %d", n.Profiled, n.Workloads),
			cores(n.Requested.CPU), cores(n.Saving.CPU), cores(n.Shortfall.CPU), gib(n.Requested.Memory), gib(n.Saving.Memory), gib(n.Shortfall.Memory))
	}
	return t
}

// undeclaredTable has the workloads of most pods that declare nothing.
func (r *Report) undeclaredTable() text.Table {
	var rows []*workloadRow
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Undeclared > 0 {
			rows = append(rows, w)
		}
	}
	slices.SortStableFunc(rows, func(a, b *workloadRow) int {
		return cmp.Or(cmp.Compare(b.Undeclared, a.Undeclared), byName(a.names(), b.names()))
	})
	t := text.Table{
		Title:  titled(len(rows), "Pods that declare no requests: cores and MiB of a pod"),
		Header: []string{"NAMESPACE", "WORKLOAD", "PODS", "CPU NEED", "RECOMMENDED", "MEMORY NEED", "RECOMMENDED", "CONFIDENCE"},
		Right:  []bool{false, false, true, true, true, true, true, true},
	}
	for _, w := range rows[:min(len(rows), most)] {
		t.Add(w.Namespace, w.title(), strconv.Itoa(w.Undeclared), fine(w.Need.CPU), fine(w.Recommended.CPU), mib(w.Need.Memory), mib(w.Recommended.Memory), w.confidence())
	}
	return t
}

// number writes a number in a unit.
func number(m Measured, unit float64, digits int) string {
	if !m.Known {
		return unknown
	}
	return strconv.FormatFloat(m.Value/unit, 'f', digits, 64)
}

func cores(m Measured) string { return number(m, 1, 2) }
func fine(m Measured) string  { return number(m, 1, 3) }
func gib(m Measured) string   { return number(m, 1<<30, 2) }
func mib(m Measured) string   { return number(m, 1<<20, 0) }
func percent(m Measured) string {
	if !m.Known {
		return unknown
	}
	return strconv.FormatFloat(100*m.Value, 'f', 0, 64) + "%"
}
