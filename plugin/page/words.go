package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/web"
)

// short says in a few words why a node takes no pod, or is not known well enough to say.
func short(n plugin.NodeState) string {
	switch signalOf(n.Signal) {
	case web.Missing:
		if n.Refused != nil {
			return "its agent's report is refused"
		}
		return "no agent has reported"
	case web.Stale:
		return "no report for " + rounded(n.Age)
	}
	switch n.Reason {
	case reserve.Admitted.String():
		return ""
	case reserve.Saturated.String():
		return cmp.Or(n.Limiting, "a resource") + " is used up"
	case reserve.NoRoom.String():
		if n.Limiting == "" {
			return "no room"
		}
		return "no room, " + n.Limiting + " is shortest"
	case reserve.SlowStart.String():
		return "too many pods are still starting"
	}
	return n.Reason
}

// Explain says why a node is as it is, the most important first.
func Explain(n plugin.NodeState, now time.Time) []string {
	lines := []string{verdict(n), lastReport(n, now)}
	if n.Refused != nil {
		lines = append(lines, fmt.Sprintf("At %s its agent sent a report that does not count: %s.", n.Refused.At.Format(time.TimeOnly), n.Refused.Reason))
	}
	if signalOf(n.Signal) == web.Missing {
		if n.InFlight > 0 {
			lines = append(lines, count(n.InFlight)+" are bound to it and not yet counted by any report.")
		}
		return lines
	}
	lines = append(lines, room(n))
	for _, c := range n.Channels {
		line := fmt.Sprintf("%s: %s in use", c.Name, percent(c.Usage))
		if c.Cost > 0 {
			takes := "takes"
			if c.Assumed {
				takes = "is assumed to take"
			}
			line += fmt.Sprintf(", and %s without pods would be left; a pod %s %s", percent(c.Capacity), takes, percent(c.Cost))
		}
		lines = append(lines, line+".")
	}
	return append(lines, caveats(n)...)
}

// verdict is whether the node takes pods.
func verdict(n plugin.NodeState) string {
	fresh := signalOf(n.Signal) == web.Fresh
	switch {
	case n.Reason != reserve.Admitted.String():
		return "It takes no pod: " + short(n) + "."
	case !fresh:
		return "What room it has is not known: " + short(n) + ". It takes pods as if there were no measurement, by their requests alone."
	case n.Slots >= reserve.MaxSlots:
		return "It takes pods."
	}
	return fmt.Sprintf("It takes %s more.", count(float64(n.Slots)))
}

// lastReport is when its agent reported last.
func lastReport(n plugin.NodeState, now time.Time) string {
	switch signalOf(n.Signal) {
	case web.Missing:
		return "No report of it has come since this scheduler began: its agent does not run, or does not reach the scheduler."
	case web.Stale:
		return fmt.Sprintf("Its agent's last report is of %s, %s ago: it does not run, or does not reach the scheduler.", now.Add(-n.Age).Format(time.TimeOnly), rounded(n.Age))
	}
	return fmt.Sprintf("Its agent reported %s ago, and counts %s.", rounded(n.Age), count(float64(n.Running)))
}

// room is how the free room comes about.
func room(n plugin.NodeState) string {
	text := fmt.Sprintf("It measured room for %.1f more pods", clean(n.Avail))
	if n.Assumed {
		text = fmt.Sprintf("It assumes room for %.1f more pods, as what a pod takes was not measured", clean(n.Avail))
	}
	if n.Limiting != "" {
		text += ", by " + n.Limiting
	}
	if n.InFlight > 0 {
		text += fmt.Sprintf("; %s on the way to it take their part", count(n.InFlight))
	}
	if n.Held > 0 {
		text += fmt.Sprintf("; room for %s is held", count(n.Held))
	}
	return text + fmt.Sprintf(": %.1f are left.", clean(n.Free))
}

// caveats say what makes the measurement less sure.
func caveats(n plugin.NodeState) (lines []string) {
	for _, d := range []struct {
		set  bool
		text string
	}{
		{n.Flags.WarmingUp, "Its agent has not measured for long, and is careful."},
		{n.Flags.Churn, "Pods have just come or gone there, and the measurement has yet to follow."},
		{n.Flags.CostUnknown, "What a pod takes there is not known yet."},
		{n.Flags.NoPressure, "Its kernel does not tell pressure."},
	} {
		if d.set {
			lines = append(lines, d.text)
		}
	}
	if n.Overdue > 0 {
		lines = append(lines, count(float64(n.Overdue))+" came without measured room, as they had waited for too long.")
	}
	return lines
}

// count is pods in words.
func count(pods float64) string {
	if pods == 1 {
		return "1 pod"
	}
	if pods == math.Trunc(pods) {
		return fmt.Sprintf("%.0f pods", pods)
	}
	return fmt.Sprintf("%.1f pods", pods)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// clean is without a zero's sign.
func clean(x float64) float64 {
	if math.Abs(x) < .05 {
		return 0
	}
	return x
}

func rounded(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// firstOf are the first names, by namespace and name.
func firstOf(names []web.PodName, most int) []web.PodName {
	slices.SortFunc(names, func(a, b web.PodName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return names[:min(most, len(names))]
}
