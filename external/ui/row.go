package ui

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Tones of states, beside the word: what a badge looks like.
const (
	calm   = "calm"
	active = "active"
	good   = "good"
	bad    = "bad"
)

// tone is that of a job's or a scheduling's state, or of a run's outcome.
func tone(state string) string {
	switch state {
	case "Completed", "Succeeded":
		return good
	case "Failed":
		return bad
	case "Running", "Scheduled", "Submitted", "Submitting", "Confirming", "AwaitingCompletion":
		return active
	default:
		return calm
	}
}

// jobRow is a job in a list. The script makes the same of one.
type jobRow struct {
	Key, Href, Kind, State, Tone, Reason string
	Scheduling, SchedulingHref           string
	Where, Last                          string
}

func newJobRow(j *wire.Job) jobRow {
	return jobRow{
		Key: j.Namespace + "/" + j.Name, Href: objectHref(wire.Jobs, j.Namespace, j.Name),
		Kind: j.Kind, State: j.State, Tone: tone(j.State), Reason: j.Reason,
		Scheduling: j.ActiveScheduling, SchedulingHref: nameHref(wire.Schedulings, j.ActiveScheduling),
		Where: whereAsked(j.CreationRequest), Last: lastRun(j.Runs),
	}
}

func whereAsked(r *wire.CreationRequest) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s", plural(len(r.Slots), "slot", "slots"), r.Testbed)
}

// lastRun says how the last run went.
func lastRun(runs []wire.Run) string {
	if len(runs) == 0 {
		return ""
	}
	r := &runs[len(runs)-1]
	switch took := runTime(r); {
	case r.Outcome == "" && r.Started != nil:
		return "since " + clock(r.Started)
	case took != "":
		return r.Outcome + " in " + took
	default:
		return r.Outcome
	}
}

// runTime is how long a run took, empty while it has not begun or not ended.
func runTime(r *wire.Run) string {
	if r.Started == nil || r.Finished == nil {
		return ""
	}
	return span(r.Finished.Sub(*r.Started))
}

// schedulingRow is a scheduling in a list. The script makes the same of one.
type schedulingRow struct {
	Key, Href, DeleteHref, State, Tone, Progress, Testbed, Form, Author string
	Priority                                                            int32
	Created                                                             *time.Time
}

func newSchedulingRow(s *wire.Scheduling) schedulingRow {
	href := objectHref(wire.Schedulings, s.Namespace, s.Name)
	return schedulingRow{
		Key: s.Namespace + "/" + s.Name, Href: href, DeleteHref: href + "/delete",
		State: stateOf(s), Tone: tone(s.State), Progress: progress(s.Jobs), Testbed: s.Testbed, Form: formOf(&s.SchedulingSpec),
		Author: s.Author, Priority: s.Priority, Created: s.Created,
	}
}

func stateOf(s *wire.Scheduling) string {
	switch {
	case s.Deleting:
		return "Releasing"
	case s.State == "":
		return "New"
	default:
		return s.State
	}
}

func progress(jobs []wire.SchedulingJob) string {
	ended := 0
	for _, j := range jobs {
		if j.State == "Completed" || j.State == "Failed" {
			ended++
		}
	}
	return fmt.Sprintf("%d of %s ended", ended, plural(len(jobs), "job", "jobs"))
}

func formOf(s *wire.SchedulingSpec) string {
	form := "queue of " + plural(len(s.Queue), "entry", "entries")
	if s.Slots != nil {
		form = "by slots, " + strings.ToLower(orElse(s.Slots.Mode, "Strict"))
	}
	if s.Exclusive {
		form += ", exclusive"
	}
	return form
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// runRow is a run of a job.
type runRow struct {
	Started, Took, Outcome, Tone, Scheduling, Where, Submitted, Finished string
	Attempt                                                              int
}

func newRunRow(r *wire.Run) runRow {
	outcome := orElse(r.Outcome, "running")
	if r.Outcome == "" && r.Started == nil {
		outcome = "waiting"
	}
	row := runRow{
		Started: clock(r.Started), Took: runTime(r), Outcome: outcome, Tone: tone(r.Outcome), Scheduling: r.Scheduling,
		Where: r.Testbed, Submitted: clock(r.Submitted), Finished: clock(r.Finished), Attempt: r.Attempt,
	}
	if r.Outcome == "" {
		row.Tone = active
	}
	if r.Reason != "" {
		row.Outcome += ": " + r.Reason
	}
	if len(r.Slots) > 0 {
		row.Where += ": " + strings.Join(r.Slots, " ")
	}
	return row
}

// runRows are the runs, the last first.
func runRows(runs []wire.Run) []runRow {
	var rows []runRow
	for i := len(runs) - 1; i >= 0; i-- {
		rows = append(rows, newRunRow(&runs[i]))
	}
	return rows
}

// conditionRow is a condition of an object.
type conditionRow struct{ Type, Status, Reason, Message, Since string }

func conditionRows(conditions []wire.Condition) []conditionRow {
	var rows []conditionRow
	for _, c := range conditions {
		rows = append(rows, conditionRow{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Since: clock(c.Since)})
	}
	return rows
}

// memberRow is a job of a scheduling.
type memberRow struct{ Key, Href, State, Tone, Slots, ReleaseHref string }

func newMemberRow(scheduling string, j wire.SchedulingJob) memberRow {
	return memberRow{
		Key: j.Job, Href: nameHref(wire.Jobs, j.Job), State: orElse(j.State, "waiting"), Tone: tone(j.State),
		Slots: strings.Join(j.Slots, " "), ReleaseHref: scheduling + "/release?job=" + url.QueryEscape(j.Job),
	}
}
