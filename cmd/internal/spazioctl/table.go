package spazioctl

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/report/table"
	"github.com/spazio-scheduler/spazio/reserve"
)

// column is one of a table of T.
type column[T any] struct {
	title string
	// number aligns to the right.
	number bool
	cell   func(T) string
	// optional leaves the column out where it says nothing of any row.
	optional bool
}

// write prints rows as wide as they are.
func write[T any](out io.Writer, columns []column[T], rows []T) error {
	t := table.Table{Rows: make([][]string, len(rows))}
	for _, c := range columns {
		if c.optional && !slices.ContainsFunc(rows, func(row T) bool { return c.cell(row) != none }) {
			continue
		}
		t.Header, t.Right = append(t.Header, c.title), append(t.Right, c.number)
		for i, row := range rows {
			t.Rows[i] = append(t.Rows[i], c.cell(row))
		}
	}
	return t.WriteText(out, 0)
}

// none stands for what a node without a report has not told.
const none = "-"

// known formats a number of a report.
func known(n plugin.NodeState, value float64) string {
	if n.Signal == "missing" {
		return none
	}
	if text := strconv.FormatFloat(value, 'f', 1, 64); text != "-0.0" {
		return text
	}
	return "0.0"
}

// plural counts things in words, as in "1 node" and "2 nodes".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

func count(n plugin.NodeState) string {
	if n.Signal == "missing" {
		return none
	}
	return strconv.Itoa(n.Running)
}

func age(n plugin.NodeState) string {
	switch {
	case n.Signal == "missing":
		return none
	case n.Age < 10*time.Second:
		return n.Age.Round(100 * time.Millisecond).String()
	}
	return n.Age.Round(time.Second).String()
}

// slots: a node that the policy admits without a current report has no bound.
func slots(n plugin.NodeState) string {
	if n.Slots >= reserve.MaxSlots {
		return "any"
	}
	return strconv.Itoa(n.Slots)
}

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// doubts names the flags that are set.
func doubts(f agent.Flags) string {
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
		parts = append(parts, fmt.Sprintf("%s %.0f%%, C %.0f%%, c %.1f%%", c.Name, 100*c.Usage, 100*c.Capacity, 100*c.Cost))
	}
	return strings.Join(parts, "; ")
}
