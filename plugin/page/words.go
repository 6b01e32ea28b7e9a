package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/web"
)

// short says in a few words why a node takes no pod, and why its room is not known.
func short(n plugin.NodeState) string {
	why, signal := refusal(n), signalOf(n.Signal)
	if signal != web.Fresh && why != "" {
		why += ", and "
	}
	switch {
	case signal == web.Fresh:
		return why
	case signal == web.Stale:
		return why + "no report for " + rounded(n.Age)
	case n.Refused != nil:
		return why + "its agent's report is refused"
	}
	return why + "no agent has reported"
}

// refusal says in a few words why a node refuses a pod, other than a missing report.
func refusal(n plugin.NodeState) string {
	switch n.Reason {
	case reserve.Admitted.String(), reserve.Stale.String():
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

// ExplanationText describes in words what is known about the pod, but not about the nodes. Lines are
// separated, and the last is not ended.
func ExplanationText(e plugin.Explanation) string {
	return strings.Join(explanationLines(e), "\n")
}

// explanationLines returns the lines of ExplanationText. The first identifies the pod.
func explanationLines(e plugin.Explanation) []string {
	lines := []string{place(e)}
	if !e.Ours {
		lines = append(lines, "its schedulerName is "+orUnknown(e.Profile)+": Spazio does not place it")
	}
	if e.Workload != nil {
		lines = append(lines, workloadText(*e.Workload))
	}
	if e.Energy != nil {
		lines = append(lines, energyText(*e.Energy))
	}
	if wait := waited(e); wait != "" {
		lines = append(lines, wait)
	}
	if e.Buffer != "" {
		lines = append(lines, fmt.Sprintf("CapacityBuffer %s asks the autoscaler for nodes for it", e.Buffer))
	}
	lines = append(lines, attemptLines(e.Attempt)...)
	if e.Unscheduled != "" {
		lines = append(lines, "the scheduler with all its plugins: "+e.Unscheduled)
	}
	return lines
}

// place identifies the pod, its state and its node.
func place(e plugin.Explanation) string {
	text := fmt.Sprintf("pod %s (%s) is another scheduler's", e.Pod, e.UID)
	if e.Ours {
		text = fmt.Sprintf("pod %s (%s) of profile %s is %s", e.Pod, e.UID, orUnknown(e.Profile), e.State)
	}
	if e.Node != "" {
		text += " on node " + e.Node
	}
	return text
}

const gib = 1 << 30

// workloadText describes what the pod is known to take.
func workloadText(w plugin.WorkloadState) string {
	if w.Source == plugin.SourceContradicted {
		return fmt.Sprintf("its workload is %s, whose pods took other amounts than its profile predicts: it counts as a typical pod", w.Workload)
	}
	if w.Source != plugin.SourceProfile {
		return fmt.Sprintf("its workload is %s, without a usable profile (%s): it counts as a typical pod", w.Workload, w.Source)
	}
	then := "profiles are only observed: what they would decide otherwise is in brackets"
	if w.Decides {
		then = "decisions use that"
	}
	return fmt.Sprintf("its workload %s takes %.3g ± %.2g cores (confidence %.2g) and %.3g ± %.2g GiB (%.2g); %s",
		w.Workload, w.CPU.Amount, w.CPU.SD, w.CPU.Confidence, w.Memory.Amount/gib, w.Memory.SD/gib, w.Memory.Confidence, then)
}

// waited describes the wait of a pod that waits for measured room or has waited too long.
func waited(e plugin.Explanation) string {
	switch {
	case e.OverdueSince != nil && e.RoomSince != nil:
		return fmt.Sprintf("it has waited for measured room since %s and is overdue since %s: a node without room may take it where memory is not full",
			e.RoomSince.Format(time.RFC3339), e.OverdueSince.Format(time.RFC3339))
	case e.RoomSince != nil:
		return "it has waited for measured room since " + e.RoomSince.Format(time.RFC3339)
	case e.Overdue:
		return "it was overdue: its node took it without measured room"
	}
	return ""
}

// attemptLines describes what a scheduling attempt saw and did.
func attemptLines(a *plugin.Attempt) []string {
	if a == nil {
		return []string{"no scheduling attempt is remembered"}
	}
	saw := fmt.Sprintf("last attempt at %s: %d of %s admitted it", a.At.Format(time.RFC3339), a.WithRoom, plural(a.Nodes, "node"))
	for _, r := range a.Refusals {
		saw += fmt.Sprintf(", %d %s", r.Nodes, r.Message)
	}
	if a.Reserved == "" {
		return []string{saw}
	}
	available := "an unknown room"
	if a.Avail != nil {
		available = tenths(*a.Avail) + " available"
	}
	return []string{saw, fmt.Sprintf("reserved on %s, which had %s and %.1f in flight", a.Reserved, available, a.InFlight)}
}

// verdictOf returns the Reason, followed in brackets by what profiles would decide if that differs.
func verdictOf(n plugin.NodeVerdict) string {
	if n.ByProfile == "" || n.ByProfile == n.Reason {
		return n.Reason
	}
	return n.Reason + " (" + n.ByProfile + ")"
}

// energyText describes what the workload's pods were measured to take.
func energyText(w energy.WorkloadEstimate) string {
	if !w.Known {
		return fmt.Sprintf("nothing is measured of its workload %s: it counts for %.3g cores, as a pod on average", w.Workload, w.Cores)
	}
	return fmt.Sprintf("a pod of its workload %s takes %.3g cores and %.3g ± %.2g W, by %d of them; they took %.0f J since the scheduler started",
		w.Workload, w.Cores, w.Watts, w.SD, w.Pods, w.Joules)
}

// detail describes in words what there is to a step apart from its time.
func detail(s plugin.Step) string {
	switch {
	case s.Tries != nil:
		return triesText(*s.Tries)
	case s.Phase != "":
		return s.Phase
	case s.Node != "":
		return "node " + s.Node
	}
	return ""
}

func triesText(t plugin.Tries) string {
	parts := []string{"once"}
	if t.Count > 1 {
		parts[0] = fmt.Sprintf("%d times, last at %s", t.Count, t.Last.Format(inMillis))
	}
	for _, r := range t.Refusals {
		parts = append(parts, fmt.Sprintf("%s in %d (%s)", r.Reason, r.Tries, plural(r.Nodes, "node")))
	}
	if t.Lost > 0 {
		parts = append(parts, fmt.Sprintf("%d found no room when it was to be reserved", t.Lost))
	}
	if t.Returned > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be bound", t.Returned))
	}
	return strings.Join(parts, "; ")
}

// plural counts things in words, as in "1 node" and "2 nodes".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
