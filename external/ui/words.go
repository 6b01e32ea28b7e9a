package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// words are the functions of templates. The script has the same.
var words = template.FuncMap{
	"blank": blank, "clock": clock, "problemAt": problemAt, "tone": tone, "key": key, "href": href,
	"plural": plural, "lastRun": lastRun, "took": took,
	"stateOf": stateOf, "progress": progress, "formOf": formOf, "joined": joined, "lastFirst": slices.Backward[[]wire.Run], "memberOf": memberOf,
}

// blank is an object of which nothing is known: the script makes further rows of how it looks.
func blank(what string) any {
	return map[string]any{
		"testbed": newGrid(wire.Testbed{}), "scheduling": wire.Scheduling{}, "job": wire.Job{}, "run": wire.Run{},
		"condition": wire.Condition{}, "member": member{},
	}[what]
}

// tone is what the badge of a job's or a scheduling's state, or of a run's outcome, looks like.
func tone(state string) string {
	switch state {
	case "Completed", "Succeeded":
		return "good"
	case "Failed":
		return "bad"
	case "Running", "Scheduled", "Submitted", "Submitting", "Confirming", "AwaitingCompletion":
		return "active"
	default:
		return "calm"
	}
}

// key is NAMESPACE/NAME, empty for no object.
func key(o wire.Resource) string {
	if o.Common().Name == "" {
		return ""
	}
	return o.Common().FullName().String()
}

// href is the page of an object NAMESPACE/NAME, empty for none.
func href(kind wire.Kind, name string) string {
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		return ""
	}
	return base + string(kind) + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(short)
}

func joined(all []string) string { return strings.Join(all, " ") }

// lastRun returns the outcome of the last run.
func lastRun(runs []wire.Run) string {
	if len(runs) == 0 {
		return ""
	}
	r := runs[len(runs)-1]
	switch {
	case r.Outcome == "" && r.Started != nil:
		return "since " + clock(r.Started)
	case took(r) != "":
		return r.Outcome + " in " + took(r)
	default:
		return r.Outcome
	}
}

// took is how long a run took, empty while it has not begun or not ended.
func took(r wire.Run) string {
	if r.Started == nil || r.Finished == nil {
		return ""
	}
	return span(r.Finished.Sub(*r.Started))
}

func stateOf(s wire.Scheduling) string {
	if s.Deleting {
		return "Releasing"
	}
	return cmp.Or(s.State, "New")
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

func formOf(s wire.SchedulingSpec) string {
	form := "queue of " + plural(len(s.Queue), "entry", "entries")
	if s.Slots != nil {
		form = "by slots, " + strings.ToLower(cmp.Or(s.Slots.Mode, wire.Strict))
	}
	if s.Exclusive {
		form += ", exclusive"
	}
	return form
}

// member is a job of a scheduling, with the page that asks whether to release it.
type member struct {
	wire.SchedulingJob
	ReleaseHref string
}

func memberOf(s wire.Scheduling, j wire.SchedulingJob) member {
	return member{j, href(wire.Schedulings, key(s)) + "/release?job=" + url.QueryEscape(j.Job)}
}

// clock is a time as a person reads it, in UTC, empty for none.
func clock(t any) string {
	if p, ok := t.(*time.Time); ok && p != nil {
		t = *p
	}
	if at, ok := t.(time.Time); ok && !at.IsZero() {
		return at.UTC().Format("2006-01-02 15:04:05")
	}
	return ""
}

// span is a duration as a person reads it.
func span(d time.Duration) string {
	seconds := max(0, d.Seconds())
	switch whole := int(seconds); {
	case seconds < 10:
		return fmt.Sprintf("%.1f s", seconds)
	case whole < 120:
		return fmt.Sprintf("%d s", whole)
	case whole < 7200:
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	default:
		return fmt.Sprintf("%d h %d min", whole/3600, whole%3600/60)
	}
}

// plural returns a number of things in words.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
