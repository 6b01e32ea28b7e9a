package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/plugin"
)

// ExplanationText describes in words what is known about the pod, but not about the nodes. Lines are
// separated, and the last is not ended.
func ExplanationText(e plugin.Explanation) string {
	lines := explanationLines(e)
	if !e.Ours {
		lines = slices.Insert(lines, 1, "the scheduler does not serve this profile with the plugin; scores are those of a pod of the default options")
	}
	return strings.Join(lines, "\n")
}

// explanationLines returns the lines that do not concern scores. The first identifies the pod.
func explanationLines(e plugin.Explanation) []string {
	lines := []string{place(e)}
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
	text := fmt.Sprintf("pod %s (%s) of profile %s is %s", e.Pod, e.UID, orUnknown(e.Profile), e.State)
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
	saw := fmt.Sprintf("last attempt at %s: %d of %s had room", a.At.Format(time.RFC3339), a.WithRoom, plural(a.Nodes, "node"))
	for _, r := range a.Refusals {
		saw += fmt.Sprintf(", %d %s", r.Nodes, r.Message)
	}
	if a.Reserved == "" {
		return []string{saw}
	}
	return []string{saw, fmt.Sprintf("reserved on %s, which had %.1f available and %.1f in flight", a.Reserved, a.Avail, a.InFlight)}
}

// verdictOf returns the Reason, followed in brackets by what profiles would decide if that differs.
func verdictOf(n plugin.NodeVerdict) string {
	if n.ByProfile == "" || n.ByProfile == n.Reason {
		return n.Reason
	}
	return n.Reason + " (" + n.ByProfile + ")"
}

// energyText describes what the workload's pods were measured to take.
func energyText(w plugin.WorkloadEnergy) string {
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
