package plugin

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Text describes in words, for people, what is known about the pod, but not about the nodes.
// Lines are separated, and the last is not ended.
func (e Explanation) Text() string {
	lines := e.Lines()
	if !e.Ours {
		lines = slices.Insert(lines, 1, "the scheduler does not serve this profile with the plugin; scores are those of a pod of the default options")
	}
	return strings.Join(lines, "\n")
}

// Lines returns the lines of Text that do not concern scores. The first identifies the pod.
func (e Explanation) Lines() []string {
	lines := []string{e.place()}
	if e.Workload != nil {
		lines = append(lines, e.Workload.text())
	}
	if e.Energy != nil {
		lines = append(lines, e.Energy.text())
	}
	if wait := e.waited(); wait != "" {
		lines = append(lines, wait)
	}
	if e.Buffer != "" {
		lines = append(lines, fmt.Sprintf("CapacityBuffer %s asks the autoscaler for nodes for it", e.Buffer))
	}
	lines = append(lines, e.Attempt.lines()...)
	if e.Unscheduled != "" {
		lines = append(lines, "the scheduler, of all its plugins: "+e.Unscheduled)
	}
	return lines
}

// place identifies the pod, its state and its node.
func (e Explanation) place() string {
	profile := e.Profile
	if profile == "" {
		profile = "-"
	}
	text := fmt.Sprintf("pod %s (%s) of profile %s is %s", e.Pod, e.UID, profile, e.State)
	if e.Node != "" {
		text += " on node " + e.Node
	}
	return text
}

const gib = 1 << 30

// text describes what the pod is known to take.
func (w WorkloadState) text() string {
	if w.Source == sourceContradicted {
		return fmt.Sprintf("its workload is %s, whose pods were measured to take something else than its profile says: it counts as a typical pod", w.Workload)
	}
	if w.Source != sourceProfile {
		return fmt.Sprintf("its workload is %s, of which nothing is known (%s): it counts as a typical pod", w.Workload, w.Source)
	}
	then := "profiles are but observed: what they would decide otherwise is in brackets"
	if w.Decides {
		then = "that is what is decided by"
	}
	return fmt.Sprintf("its workload %s takes %.3g ± %.2g cores (confidence %.2g) and %.3g ± %.2g GiB (%.2g); %s",
		w.Workload, w.CPU.Amount, w.CPU.SD, w.CPU.Confidence, w.Memory.Amount/gib, w.Memory.SD/gib, w.Memory.Confidence, then)
}

// waited describes the wait of a pod that waits for measured room or has waited too long.
func (e Explanation) waited() string {
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

// lines describes what a scheduling attempt saw and did.
func (a *Attempt) lines() []string {
	if a == nil {
		return []string{"no scheduling attempt is remembered"}
	}
	nodes := "nodes"
	if a.Nodes == 1 {
		nodes = "node"
	}
	saw := fmt.Sprintf("last attempt at %s: %d of %d %s had room", a.At.Format(time.RFC3339), a.WithRoom, a.Nodes, nodes)
	for _, r := range a.Refusals {
		saw += fmt.Sprintf(", %d %s", r.Nodes, r.Message)
	}
	if a.Reserved == "" {
		return []string{saw}
	}
	return []string{saw, fmt.Sprintf("reserved on %s, which had %.1f available and %.1f in flight", a.Reserved, a.Avail, a.InFlight)}
}

// Verdict returns the Reason, followed in brackets by what profiles would decide if that differs.
func (n NodeVerdict) Verdict() string {
	if n.ByProfile == "" || n.ByProfile == n.Reason {
		return n.Reason
	}
	return n.Reason + " (" + n.ByProfile + ")"
}
