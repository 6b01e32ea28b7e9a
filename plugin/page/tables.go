package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Table is a table for people; Right marks the columns that hold numbers. A plain value.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
	Right  []bool
}

// unknown stands for what is not known.
const unknown = "-"

// StatusText is a line on how many nodes and pods there are.
func StatusText(s plugin.Status) string {
	l := s.Ledger
	text := fmt.Sprintf("%s; %s waiting, %d in flight (%d assumed, %d bound), %d counted",
		plural(len(s.Nodes), "node"), plural(s.Waiting, "pod"), l.Assumed+l.Bound, l.Assumed, l.Bound, l.Confirmed)
	if l.Held > 0 {
		text += ", room held by " + plural(l.Held, "placeholder")
	}
	return text
}

// StatusTable shows the nodes. The doubt "assumed" means that AVAIL and FREE rest on a prior, because what
// a pod takes of the shortest resource was not measured. CORES and GIB are "-" for a node that
// does not count in them. KNOWN, how many of PODS have a known profile, is left out where profiles are
// off.
func StatusTable(s plugin.Status) Table {
	t := Table{
		Header: []string{"NODE", "SIGNAL", "AGE", "AVAIL", "INFLIGHT", "FREE", "SLOTS", "CORES", "GIB", "PODS", "K", "SHORTEST", "VERDICT", "DOUBTS"},
		Right:  []bool{false, false, true, true, true, true, true, true, true, true, true},
	}
	for _, n := range s.Nodes {
		t.Rows = append(t.Rows, []string{
			n.Node, n.Signal, age(n), reported(n, n.Avail), tenths(n.InFlight), reported(n, n.Free), slots(n), left(n.Cores, 1), left(n.Bytes, 1<<30),
			running(n), reported(n, n.K), orUnknown(n.Limiting), n.Reason, flags(n),
		})
	}
	t.addPart("HELD", "FREE", func(row int) float64 { return s.Nodes[row].Held })
	if slices.ContainsFunc(s.Nodes, func(n plugin.NodeState) bool { return n.Known != nil }) {
		t.insert("KNOWN", "K", func(row int) string { return known(s.Nodes[row]) })
	}
	return t
}

// addPart adds a column of a part of the room ahead of another, if there is any such room.
func (t *Table) addPart(name, before string, of func(row int) float64) {
	any := false
	for row := range t.Rows {
		any = any || of(row) != 0
	}
	if !any {
		return
	}
	t.insert(name, before, func(row int) string { return tenths(of(row)) })
}

// insert adds a column of numbers ahead of another.
func (t *Table) insert(name, before string, cell func(row int) string) {
	i := slices.Index(t.Header, before)
	t.Header, t.Right = slices.Insert(t.Header, i, name), slices.Insert(t.Right, i, true)
	for row := range t.Rows {
		t.Rows[row] = slices.Insert(t.Rows[row], i, cell(row))
	}
}

// VerdictTable shows the nodes as the pod would find them. AHEAD is what of FREE is granted ahead of
// confirmation and hardly counts in the score, absent if that is none anywhere. TAKES is "-" of a
// pod of which nothing is known.
func VerdictTable(e plugin.Explanation) Table {
	t := Table{
		Header: []string{"NODE", "SCORE", "AVAIL", "INFLIGHT", "FREE", "AGE", "VERDICT", "TAKES", "SHORTEST", "CHANNELS", "DOUBTS"},
		Right:  []bool{false, true, true, true, true, true},
	}
	for _, n := range e.Nodes {
		score := unknown
		if n.Score != nil {
			score = strconv.FormatInt(*n.Score, 10)
		}
		t.Rows = append(t.Rows, []string{
			n.Node, score, reported(n.NodeState, n.Avail), tenths(n.InFlight), reported(n.NodeState, n.Free), age(n.NodeState), verdictOf(n), takes(n),
			orUnknown(n.Limiting), orUnknown(channels(n.Channels)), flags(n.NodeState),
		})
	}
	t.addPart("AHEAD", "AGE", func(row int) float64 { return e.Nodes[row].Allowance })
	t.addPart("HELD", "FREE", func(row int) float64 { return e.Nodes[row].Held })
	return t
}

// EnergyTable shows the nodes whose power is known.
func EnergyTable(nodes []plugin.NodeState) Table {
	t := Table{
		Header: []string{"NODE", "WATTS", "SD", "MAX", "IDLE", "W/CORE", "BUSY", "INFLIGHT", "G", "QUALITY", "DOUBTS"},
		Right:  []bool{false, true, true, true, true, true, true, true, true},
	}
	for _, n := range nodes {
		e := n.Energy
		if e == nil {
			continue
		}
		g := unknown
		if e.Goodness != nil {
			g = fmt.Sprintf("%.2f", *e.Goodness)
		}
		t.Rows = append(t.Rows, []string{
			n.Node, tenths(e.Watts), tenths(e.SD), tenths(e.Max), tenths(e.Idle), tenths(e.Marginal), tenths(e.Busy), tenths(e.InFlightCores),
			g, e.Quality, e.Flags,
		})
	}
	if t.Rows == nil {
		t.Title = "no node reports its power"
	}
	return t
}

// VerdictEnergyTable shows the nodes whose power is known, with their goodness for the pod.
func VerdictEnergyTable(e plugin.Explanation) Table {
	nodes := make([]plugin.NodeState, len(e.Nodes))
	for i, n := range e.Nodes {
		nodes[i] = n.NodeState
	}
	return EnergyTable(nodes)
}

// WorkloadTable shows what workloads take; s may be nil.
func WorkloadTable(s *plugin.EnergyStatus) Table {
	t := Table{
		Header: []string{"WORKLOAD", "PODS", "CORES", "WATTS", "SD", "JOULES"},
		Right:  []bool{false, true, true, true, true, true},
	}
	if s == nil {
		return t
	}
	t.Title = fmt.Sprintf("G is for a pod of %g cores (%s); watts and cores of a workload are a pod's", s.Cores, s.Objective)
	for _, w := range s.Workloads {
		t.Rows = append(t.Rows, []string{
			w.Workload, fmt.Sprint(w.Pods), fmt.Sprintf("%.2f", w.Cores), fmt.Sprintf("%.2f", w.Watts), fmt.Sprintf("%.2f", w.SD), fmt.Sprintf("%.0f", w.Joules),
		})
	}
	return t
}

// StepTable shows what has happened to the pod, with fractions of seconds where they are known.
func StepTable(e plugin.Explanation) Table {
	t := Table{Header: []string{"STEP", "AT", "AFTER", "DETAIL"}, Right: []bool{false, false, true}}
	var first time.Time
	for _, s := range e.Steps {
		at, after := unknown, unknown
		if s.At != nil {
			if first.IsZero() {
				first = *s.At
			}
			at, after = timeOf(s), since(s, first)
		}
		t.Rows = append(t.Rows, []string{s.Name, at, after, detail(s)})
	}
	return t
}

const inMillis = "2006-01-02T15:04:05.000Z07:00"

func timeOf(s plugin.Step) string {
	if s.WholeSeconds {
		return s.At.Format(time.RFC3339)
	}
	return s.At.Format(inMillis)
}

// since returns the time from first to a step. For a step known to the second it may be a little too
// short.
func since(s plugin.Step, first time.Time) string {
	unit := time.Millisecond
	if s.WholeSeconds {
		unit = time.Second
	}
	return s.At.Sub(first).Round(unit).String()
}

// isMissing reports whether the node has never reported.
func isMissing(n plugin.NodeState) bool { return n.Signal == "missing" }

// reported formats a number of the report.
func reported(n plugin.NodeState, value float64) string {
	if isMissing(n) {
		return unknown
	}
	if text := tenths(value); text != "-0.0" {
		return text
	}
	return "0.0"
}

func known(n plugin.NodeState) string {
	if n.Known == nil {
		return unknown
	}
	return strconv.Itoa(*n.Known)
}

func running(n plugin.NodeState) string {
	if isMissing(n) {
		return unknown
	}
	return strconv.Itoa(n.Running)
}

func age(n plugin.NodeState) string {
	if isMissing(n) {
		return unknown
	}
	return rounded(n.Age)
}

// slots: a node that the policy admits without a current report has no bound.
func slots(n plugin.NodeState) string {
	if n.Slots >= reserve.MaxSlots {
		return "any"
	}
	return strconv.Itoa(n.Slots)
}

// takes is what a known pod takes of the node in typical pods, first of the resource that
// has the least left.
func takes(n plugin.NodeVerdict) string {
	resources := slices.Sorted(maps.Keys(n.Takes))
	slices.SortStableFunc(resources, func(a, b string) int {
		switch n.Binding {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	parts := make([]string, len(resources))
	for i, r := range resources {
		parts[i] = fmt.Sprintf("%s %.2g", r, n.Takes[r])
	}
	return orUnknown(strings.Join(parts, ", "))
}

// left formats what is left for pods that are known, in a unit.
func left(amount *float64, unit float64) string {
	if amount == nil {
		return unknown
	}
	return tenths(*amount / unit)
}

// flags names the flags that are set, and that the room rests on an assumption.
func flags(n plugin.NodeState) string {
	names := flagged(n.Flags)
	if !n.Assumed {
		return names
	}
	return strings.TrimSuffix("assumed,"+names, ",")
}

// flagged names the flags that are set.
func flagged(f agent.Flags) string {
	var names []string
	for _, flag := range []struct {
		set  bool
		name string
	}{{f.WarmingUp, "warming-up"}, {f.Churn, "churn"}, {f.CostUnknown, "cost-unknown"}, {f.NoPressure, "no-pressure"}} {
		if flag.set {
			names = append(names, flag.name)
		}
	}
	return strings.Join(names, ",")
}

// channels shows usage, capacity and cost of each in hundredths.
func channels(list []plugin.ChannelState) string {
	var parts []string
	for _, c := range list {
		part := fmt.Sprintf("%s %.0f%%, C %.0f%%, c %.1f%%", c.Name, 100*c.Usage, 100*c.Capacity, 100*c.Cost)
		if c.Assumed {
			part += " assumed"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func orUnknown(text string) string {
	if text == "" {
		return unknown
	}
	return text
}

func tenths(x float64) string { return fmt.Sprintf("%.1f", x) }
