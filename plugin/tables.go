package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
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

// Text says in a line how many nodes and pods there are.
func (s Status) Text() string {
	l := s.Ledger
	text := fmt.Sprintf("%s; %s waiting, %d in flight (%d assumed, %d bound), %d counted",
		plural(len(s.Nodes), "node"), plural(s.Waiting, "pod"), l.Assumed+l.Bound, l.Assumed, l.Bound, l.Absorbed)
	if l.Held > 0 {
		text += ", room held by " + plural(l.Held, "placeholder")
	}
	return text
}

// plural counts things in words, as in "1 node" and "2 nodes".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Table shows the nodes. The doubt "assumed" means that AVAIL and FREE rest on a prior, because what
// a pod takes of the shortest resource was not measured. CORES and GIB are "-" for a node that
// does not count in them. KNOWN, how many of PODS have a known profile, is left out where profiles are
// off.
func (s Status) Table() Table {
	t := Table{
		Header: []string{"NODE", "SIGNAL", "AGE", "AVAIL", "INFLIGHT", "FREE", "SLOTS", "CORES", "GIB", "PODS", "K", "SHORTEST", "VERDICT", "DOUBTS"},
		Right:  []bool{false, false, true, true, true, true, true, true, true, true, true},
	}
	for _, n := range s.Nodes {
		t.Rows = append(t.Rows, []string{
			n.Node, n.Signal, n.age(), n.reported(n.Avail), tenths(n.InFlight), n.reported(n.Free), n.slots(), left(n.Cores, 1), left(n.Bytes, 1<<30),
			n.running(), n.reported(n.K), orUnknown(n.Limiting), n.Reason, n.doubts(),
		})
	}
	t.addPart("HELD", "FREE", func(row int) float64 { return s.Nodes[row].Held })
	if slices.ContainsFunc(s.Nodes, func(n NodeState) bool { return n.Known != nil }) {
		t.insert("KNOWN", "K", func(row int) string { return s.Nodes[row].known() })
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

// Table shows the nodes as the pod would find them. AHEAD is what of FREE is granted ahead of
// confirmation and hardly counts in the score, absent if that is none anywhere. TAKES is "-" of a
// pod of which nothing is known.
func (e Explanation) Table() Table {
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
			n.Node, score, n.reported(n.Avail), tenths(n.InFlight), n.reported(n.Free), n.age(), n.Verdict(), n.takes(),
			orUnknown(n.Limiting), orUnknown(channels(n.Channels)), n.doubts(),
		})
	}
	t.addPart("AHEAD", "AGE", func(row int) float64 { return e.Nodes[row].Allowance })
	t.addPart("HELD", "FREE", func(row int) float64 { return e.Nodes[row].Held })
	return t
}

// reported formats a number of the report.
func (n NodeState) reported(value float64) string {
	if n.Signal == signalMissing {
		return unknown
	}
	if text := tenths(value); text != "-0.0" {
		return text
	}
	return "0.0"
}

func (n NodeState) known() string {
	if n.Known == nil {
		return unknown
	}
	return strconv.Itoa(*n.Known)
}

func (n NodeState) running() string {
	if n.Signal == signalMissing {
		return unknown
	}
	return strconv.Itoa(n.Running)
}

func (n NodeState) age() string {
	switch {
	case n.Signal == signalMissing:
		return unknown
	case n.Age < 10*time.Second:
		return n.Age.Round(100 * time.Millisecond).String()
	}
	return n.Age.Round(time.Second).String()
}

// slots: a node that the policy admits without a current report has no bound.
func (n NodeState) slots() string {
	if n.Slots >= reserve.MaxSlots {
		return "any"
	}
	return strconv.Itoa(n.Slots)
}

// takes is what a known pod takes of the node in typical pods, first of the resource that
// has the least left.
func (n NodeVerdict) takes() string {
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

// doubts are the flags that are set, and that the room rests on an assumption.
func (n NodeState) doubts() string {
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
func channels(list []ChannelState) string {
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
