package lifecycle_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// maxRuns is the number of runs that a job keeps.
const maxRuns = 50

var update = flag.Bool("update", false, "rewrite the golden files")

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// alike compares; go-cmp, which describes differences, is slow for equal values.
func alike(t *testing.T, what string, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s: %s", what, cmp.Diff(want, got))
	}
}

var twoSlots = []slot.ID{{Node: "a"}, {Node: "b"}}

// since is when the current run of a stored job was submitted.
var since = epoch.Add(-time.Minute)

// stored returns a job in the state; one in the queue has no request, a fresh one or a spent one.
func stored(state lifecycle.JobState, request string) lifecycle.Job {
	j := lifecycle.Job{State: state, SchedulingUID: "s", Scheduling: testbed.Name{Namespace: "lab", Name: "s"}}
	run := lifecycle.Run{Request: lifecycle.Request{Attempt: 1, Slots: twoSlots}, Submitted: since}
	switch state {
	case lifecycle.Submitted, lifecycle.Scheduled, lifecycle.Running:
		j.Runs = []lifecycle.Run{run}
	case lifecycle.Completed:
		run.Outcome = lifecycle.RunSucceeded
		j.Runs = []lifecycle.Run{run}
	case lifecycle.Failed:
		run.Outcome = lifecycle.RunFailed
		j.Runs = []lifecycle.Run{run}
	}
	if state >= lifecycle.Submitted && state <= lifecycle.Failed || request == "fresh" || request == "spent" {
		j.Request = &lifecycle.Request{Slots: twoSlots, Attempt: 1}
	}
	if request == "spent" {
		run.Outcome = lifecycle.RunFailed
		j.Runs = []lifecycle.Run{run}
	}
	return j
}

// The values of each observed property.
var (
	holds = []string{"wanted", "unwanted", "deleted"}
	apps  = []string{"absent", "lost", "pending", "active", "succeeded", "ended", "leaving", "another"}
	pods  = []string{"none", "bound", "running", "lingering"}
	// variants are further observations: c claimed, l late, r a retry left.
	variants = []string{"", "c", "l", "r", "cl", "cr", "lr", "clr"}
)

func observed(j lifecycle.Job, hold, app, pod, variant string) (lifecycle.JobObserved, time.Time) {
	o := lifecycle.JobObserved{
		Stored: j, Wanted: hold != "unwanted", Deleting: hold == "deleted", Finalizer: true, Check: lifecycle.Valid,
		Claimed: strings.Contains(variant, "c"),
	}
	if strings.Contains(variant, "r") {
		o.RetryLimit = 1
	}
	now := epoch
	if strings.Contains(variant, "l") {
		now = since.Add(10 * time.Minute)
	}
	a := lifecycle.Application{UID: "app", Attempt: 1}
	switch app {
	case "absent":
		a = lifecycle.Application{}
	case "lost":
		a = lifecycle.Application{}
		if len(j.Runs) > 0 {
			o.Stored.Runs = slices.Clone(j.Runs)
			o.Stored.Runs[0].Application = "app"
		}
	case "pending", "leaving":
		a.Phase, a.Deleting = lifecycle.Pending, app == "leaving"
	case "active":
		a.Phase = lifecycle.Active
	case "another":
		a.Phase, a.Attempt = lifecycle.Active, 7
	case "succeeded":
		a.Phase = lifecycle.Succeeded
	case "ended":
		a.Phase, a.Reason = lifecycle.Ended, "OOM"
	}
	o.Application = a
	switch pod {
	case "bound":
		o.Pods = lifecycle.Pods{Bound: 2, Running: 1, Alive: 1, Live: 2}
	case "running":
		o.Pods = lifecycle.Pods{Bound: 2, Running: 2, Alive: 2, Live: 2}
	case "lingering":
		o.Pods = lifecycle.Pods{Bound: 1, Live: 1}
	}
	return o, now
}

func spell(j lifecycle.Job, actions []lifecycle.JobAction) string {
	text := j.State.String()
	if j.Reason != "" {
		text += "(" + j.Reason + ")"
	}
	for _, a := range actions {
		text += " " + string(a.Op)
	}
	return text
}

// each calls f with all possible observations of a job in each state.
func each(f func(line string, state lifecycle.JobState, variant string, o lifecycle.JobObserved, now time.Time)) {
	for state := lifecycle.Ready; state <= lifecycle.Releasing; state++ {
		requests := []string{""}
		if state == lifecycle.InQueue {
			requests = []string{"no request", "fresh", "spent"}
		}
		for _, request := range requests {
			for _, hold := range holds {
				for _, app := range apps {
					for _, pod := range pods {
						for _, variant := range variants {
							o, now := observed(stored(state, request), hold, app, pod, variant)
							line := strings.TrimSuffix(fmt.Sprintf("%v %s, %s", state, hold, request), ", ")
							f(fmt.Sprintf("%s, application %s, pods %s", line, app, pod), state, variant, o, now)
						}
					}
				}
			}
		}
	}
}

// TestJobStates records what each state becomes by each observation, and which states can become
// another in one step.
func TestJobStates(t *testing.T) {
	var trace strings.Builder
	var last string
	results := make(map[string][]string)
	pairs := make(map[[2]lifecycle.JobState]int)
	flush := func() {
		if last == "" {
			return
		}
		fmt.Fprintf(&trace, "%s\n", last)
		keys := make([]string, 0, len(results))
		for key := range results {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			who := strings.Join(results[key], ",")
			if len(results[key]) == len(variants) {
				who = "always"
			}
			fmt.Fprintf(&trace, "    %s: %s\n", who, key)
		}
		clear(results)
	}
	each(func(line string, state lifecycle.JobState, variant string, o lifecycle.JobObserved, now time.Time) {
		if line != last {
			flush()
			last = line
		}
		j, actions := lifecycle.StepJob(o, now)
		if variant == "" {
			variant = "-"
		}
		key := spell(j, actions)
		results[key] = append(results[key], variant)
		pairs[[2]lifecycle.JobState{state, j.State}]++
	})
	flush()
	golden(t, "job-states.golden", trace.String())

	trace.Reset()
	for from := lifecycle.Ready; from <= lifecycle.Releasing; from++ {
		for to := lifecycle.Ready; to <= lifecycle.Releasing; to++ {
			fmt.Fprintf(&trace, "%v to %v: %d\n", from, to, pairs[[2]lifecycle.JobState{from, to}])
		}
	}
	golden(t, "job-pairs.golden", trace.String())
}

// A second step after a step changes nothing and requests the same; and for any observation, slots are
// freed only if nothing can be in them.
func TestJobStepTwice(t *testing.T) {
	each(func(line string, _ lifecycle.JobState, variant string, o lifecycle.JobObserved, now time.Time) {
		for _, check := range []lifecycle.Check{lifecycle.Unchecked, lifecycle.Valid, lifecycle.Invalid, lifecycle.Unavailable} {
			o := o
			o.Check, o.Problem, o.Finalizer = check, "no image", check == lifecycle.Valid
			if check == lifecycle.Unavailable {
				o.Fault = "WebhookMissing"
			}
			holdToRules(t, line+" "+variant, o, now)
		}
	})
}

func holdToRules(t *testing.T, what string, o lifecycle.JobObserved, now time.Time) {
	t.Helper()
	given := o
	given.Stored.Runs = slices.Clone(o.Stored.Runs)
	j, actions := lifecycle.StepJob(o, now)
	alike(t, what+": the input was modified", given, o)
	o.Stored = j
	again, same := lifecycle.StepJob(o, now)
	alike(t, what+": state after a second step", j, again)
	alike(t, what+": actions of a second step", actions, same)
	open := 0
	for _, r := range j.Runs {
		if r.Outcome == lifecycle.Open {
			open++
		}
	}
	underWay := j.State == lifecycle.Submitted || j.State == lifecycle.Scheduled || j.State == lifecycle.Running
	if open > 1 || underWay != (open == 1) {
		t.Fatalf("%s: got %d open runs in state %v", what, open, j.State)
	}
	for _, a := range actions {
		switch a.Op {
		case lifecycle.FreeSlots:
			gone := o.Application.Phase == lifecycle.Absent || o.Application.Phase == lifecycle.Succeeded || o.Application.Phase == lifecycle.Ended
			if o.Pods.Live > 0 || !gone || underWay {
				t.Fatalf("%s: slots freed in state %v with %+v and %+v", what, j.State, o.Application, o.Pods)
			}
		case lifecycle.CreateApplication:
			if o.Application.Phase != lifecycle.Absent || a.Attempt != j.Request.Attempt {
				t.Fatalf("%s: created beside %+v", what, o.Application)
			}
		case lifecycle.RemoveJobFinalizer:
			if o.Claimed || o.Pods.Live > 0 || o.Application.Phase != lifecycle.Absent {
				t.Fatalf("%s: the job ended but left %+v", what, o)
			}
		}
	}
}

// life is a job in a story.
type life struct {
	t     *testing.T
	o     lifecycle.JobObserved
	now   time.Time
	trace strings.Builder
}

func (l *life) after(d time.Duration, what string, change func(o *lifecycle.JobObserved)) {
	l.now = l.now.Add(d)
	change(&l.o)
	j, actions := lifecycle.StepJob(l.o, l.now)
	l.o.Stored = j
	fmt.Fprintf(&l.trace, "%6.0fs %s\n        %s\n", l.now.Sub(epoch).Seconds(), what, spell(j, nil))
	at := func(x time.Time) string {
		if x.IsZero() {
			return "-"
		}
		return fmt.Sprintf("%.0fs", x.Sub(epoch).Seconds())
	}
	for _, r := range j.Runs[max(0, len(j.Runs)-1):] {
		fmt.Fprintf(&l.trace, "          run %d of %s: submitted %s, scheduled %s, started %s, finished %s %v %s\n",
			r.Attempt, r.Scheduling, at(r.Submitted), at(r.Scheduled), at(r.Started), at(r.Finished), r.Outcome, r.Reason)
	}
	for _, a := range actions {
		fmt.Fprintf(&l.trace, "       => %v", a.Op)
		if a.Attempt > 0 {
			fmt.Fprintf(&l.trace, " %d", a.Attempt)
		}
		if a.UID != "" {
			fmt.Fprintf(&l.trace, " %s", a.UID)
		}
		if !a.At.IsZero() {
			fmt.Fprintf(&l.trace, " %s", at(a.At))
		}
		l.trace.WriteString("\n")
	}
}

// TestJobLife records a job's life: a run that succeeds, one that is retried, one that is cancelled,
// and what a controller finds after an absence.
func TestJobLife(t *testing.T) {
	l := &life{t: t, now: epoch}
	type O = lifecycle.JobObserved
	acquire := func(name string) func(o *O) {
		return func(o *O) {
			o.Stored.Scheduling, o.Stored.SchedulingUID = testbed.Name{Namespace: "lab", Name: name}, "uid-"+name
			o.Wanted = true
		}
	}
	request := func(o *O) {
		o.Claimed = true
		o.Stored.Request = &lifecycle.Request{
			Testbed: testbed.Name{Namespace: "lab", Name: "bed"}, Slots: twoSlots, Attempt: o.Stored.NextAttempt(),
		}
	}
	app := func(phase lifecycle.Phase) func(o *O) {
		return func(o *O) {
			o.Application.Phase = phase
			o.Application.Attempt = o.Stored.NextAttempt() - 1
			o.Application.UID = fmt.Sprint("app-", o.Application.Attempt)
		}
	}
	l.after(0, "nobody has it", func(*O) {})
	l.after(1*time.Second, "a scheduling acquires it", acquire("one"))
	l.after(1*time.Second, "it is valid", func(o *O) { o.Check, o.Finalizer = lifecycle.Valid, true })
	l.after(1*time.Second, "it is granted two slots", request)
	l.after(1*time.Second, "its application is there", func(o *O) {
		app(lifecycle.Pending)(o)
		o.Application.Created = l.now.Add(-500 * time.Millisecond)
	})
	l.after(1*time.Second, "one pod is bound", func(o *O) { o.Pods = lifecycle.Pods{Bound: 1, Live: 2} })
	l.after(1*time.Second, "both are, and one runs", func(o *O) {
		o.Pods = lifecycle.Pods{Bound: 2, Running: 1, Live: 2, BoundAt: l.now.Add(-time.Second)}
		o.Application.Phase = lifecycle.Active
	})
	l.after(5*time.Second, "both run", func(o *O) { o.Pods.Running, o.Pods.Alive, o.Pods.StartedAt = 2, 2, l.now.Add(-2*time.Second) })
	l.after(60*time.Second, "it succeeds, and its pods linger", func(o *O) {
		o.Application.Phase, o.Application.Finished = lifecycle.Succeeded, l.now.Add(-3*time.Second)
	})
	l.after(1*time.Second, "they are gone with the application", func(o *O) {
		o.Application, o.Pods = lifecycle.Application{}, lifecycle.Pods{}
	})
	l.after(1*time.Second, "its slots are free", func(o *O) { o.Claimed = false })
	l.after(1*time.Second, "the scheduling is deleted", func(o *O) { o.Wanted = false })

	l.after(100*time.Second, "another acquires it, that tries again", func(o *O) { acquire("two")(o); o.RetryLimit = 1 })
	l.after(1*time.Second, "it is granted slots", request)
	l.after(1*time.Second, "it runs", func(o *O) {
		app(lifecycle.Active)(o)
		o.Pods = lifecycle.Pods{Bound: 2, Running: 2, Alive: 2, Live: 2}
	})
	l.after(9*time.Second, "it fails", func(o *O) {
		o.Application.Phase, o.Application.Reason = lifecycle.Ended, "OOMKilled"
		o.Application.Finished = l.now.Add(-time.Second)
	})
	l.after(1*time.Second, "its pods are gone", func(o *O) { o.Application, o.Pods = lifecycle.Application{}, lifecycle.Pods{} })
	l.after(1*time.Second, "its slots are free", func(o *O) { o.Claimed = false })
	l.after(1*time.Second, "it is granted others, before its time", request)
	l.after(7*time.Second, "it is time", func(*O) {})
	l.after(1*time.Second, "its application is there", app(lifecycle.Pending))
	l.after(1*time.Second, "somebody deletes it", func(o *O) { o.Application = lifecycle.Application{} })
	l.after(1*time.Second, "and edits it", func(o *O) { o.Claimed = false })
	l.after(1*time.Second, "the scheduling drops it", func(o *O) { o.Wanted = false })

	l.after(100*time.Second, "a third acquires it", func(o *O) { acquire("three")(o); o.RetryLimit = 0 })
	l.after(1*time.Second, "it is granted slots", request)
	l.after(1*time.Second, "its application is there", app(lifecycle.Pending))
	l.after(600*time.Second, "and never gets its pods", func(*O) {})
	l.after(1*time.Second, "it goes", func(o *O) { o.Application.Deleting = true })
	l.after(1*time.Second, "it is gone", func(o *O) { o.Application = lifecycle.Application{} })
	l.after(1*time.Second, "its slots are free, and it is released", func(o *O) { o.Claimed, o.Wanted = false, false })

	l.after(100*time.Second, "a fourth acquires it, and grants slots at once", func(o *O) { acquire("four")(o); request(o) })
	l.after(1*time.Second, "it runs", func(o *O) { app(lifecycle.Active)(o); o.Pods = lifecycle.Pods{Bound: 2, Running: 2, Alive: 2, Live: 2} })
	l.after(9*time.Second, "it is deleted while it runs", func(o *O) { o.Deleting = true })
	l.after(1*time.Second, "one pod is left", func(o *O) { o.Application, o.Pods = lifecycle.Application{}, lifecycle.Pods{Live: 1} })
	l.after(1*time.Second, "none is", func(o *O) { o.Pods = lifecycle.Pods{} })
	l.after(1*time.Second, "its slots are free", func(o *O) { o.Claimed = false })
	golden(t, "job-life.golden", l.trace.String())
}

// A controller that was away finds the application ended, and uses its own times.
func TestJobSkipsStates(t *testing.T) {
	j := lifecycle.Job{
		State: lifecycle.Submitted, SchedulingUID: "s", Request: &lifecycle.Request{Slots: twoSlots, Attempt: 3},
		Runs: []lifecycle.Run{{Request: lifecycle.Request{Attempt: 3, Slots: twoSlots}, Submitted: since}},
	}
	got, _ := lifecycle.StepJob(lifecycle.JobObserved{
		Stored: j, Wanted: true, Claimed: true,
		Application: lifecycle.Application{UID: "a", Attempt: 3, Phase: lifecycle.Succeeded, Created: epoch, Finished: epoch.Add(50 * time.Second)},
		Pods:        lifecycle.Pods{Bound: 2, Running: 2, BoundAt: epoch.Add(1 * time.Second), StartedAt: epoch.Add(2 * time.Second)},
	}, epoch.Add(time.Hour))
	want := lifecycle.Run{
		Request: lifecycle.Request{Attempt: 3, Slots: twoSlots}, Application: "a", Submitted: epoch, Scheduled: epoch.Add(1 * time.Second),
		Started: epoch.Add(2 * time.Second), Finished: epoch.Add(50 * time.Second), Outcome: lifecycle.RunSucceeded,
	}
	if diff := cmp.Diff([]lifecycle.Run{want}, got.Runs); diff != "" || got.State != lifecycle.Completed {
		t.Error(got.State, diff)
	}
}

// TestJobObservations covers what the state golden does not vary.
func TestJobObservations(t *testing.T) {
	for name, tt := range map[string]struct {
		state, request string
		change         func(*lifecycle.JobObserved)
		want           string
	}{
		"the finalizer is added first": {"InQueue", "fresh", func(o *lifecycle.JobObserved) { o.Finalizer = false }, "Submitted add-finalizer create wake"},
		"not on a deleted job":         {"InQueue", "", func(o *lifecycle.JobObserved) { o.Finalizer, o.Deleting, o.Claimed = false, true, true }, "Releasing free-slots"},
		"an unchecked job is checked":  {"InQueue", "", func(o *lifecycle.JobObserved) { o.Check = lifecycle.Unchecked }, "InQueue check"},
		"an invalid one fails":         {"InQueue", "", func(o *lifecycle.JobObserved) { o.Check, o.Problem = lifecycle.Invalid, "SlotTooSmall" }, "Failed(SlotTooSmall)"},
		"an unavailable one waits":     {"InQueue", "", func(o *lifecycle.JobObserved) { o.Check = lifecycle.Unavailable }, "InQueue"},
		"a refused one fails":          {"Submitted", "", func(o *lifecycle.JobObserved) { o.Fault = "Forbidden" }, "Failed(Forbidden)"},
		"or is retried":                {"Submitted", "", func(o *lifecycle.JobObserved) { o.Fault, o.RetryLimit = "Forbidden", 2 }, "InQueue(Forbidden) wake"},
		"but not without limit":        {"Submitted", "", func(o *lifecycle.JobObserved) { o.Fault, o.RetryLimit, o.Stored.Retries = "Forbidden", 2, 2 }, "Failed(Forbidden)"},
		"fewer pods than slots":        {"Submitted", "", func(o *lifecycle.JobObserved) { o.Pods = lifecycle.Pods{Expected: 1, Bound: 1} }, "Scheduled create wake"},
		"an application ends without effect": {"Running", "", func(o *lifecycle.JobObserved) {
			o.Application = lifecycle.Application{UID: "a", Attempt: 1, Phase: lifecycle.Ended}
		}, "Failed(ApplicationFailed)"},
		"its own submitTimeout":   {"Submitted", "", func(o *lifecycle.JobObserved) { o.SubmitTimeout = time.Minute }, "Failed(SubmitTimeout)"},
		"a state without its run": {"Running", "", func(o *lifecycle.JobObserved) { o.Stored.Runs = nil }, "Ready"},
		"it is deleted":           {"Ready", "", func(o *lifecycle.JobObserved) { o.Deleting, o.Wanted = true, false }, "Ready remove-finalizer"},
		"without our finalizer":   {"Ready", "", func(o *lifecycle.JobObserved) { o.Deleting, o.Wanted, o.Finalizer = true, false, false }, "Ready"},
	} {
		var state lifecycle.JobState
		if err := state.UnmarshalText([]byte(tt.state)); err != nil {
			t.Fatal(err)
		}
		o, now := observed(stored(state, tt.request), "wanted", "absent", "none", "")
		tt.change(&o)
		j, actions := lifecycle.StepJob(o, now)
		if got := spell(j, actions); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A step resets a missing scheduling, and a request whose run has ended.
func TestJobResets(t *testing.T) {
	o, now := observed(stored(lifecycle.Ready, ""), "unwanted", "absent", "none", "")
	if j, _ := lifecycle.StepJob(o, now); j.SchedulingUID != "" || j.Scheduling != (testbed.Name{}) {
		t.Errorf("got %+v of a ready job", j)
	}
	o, now = observed(stored(lifecycle.InQueue, "spent"), "wanted", "absent", "none", "")
	if j, _ := lifecycle.StepJob(o, now); j.Request != nil {
		t.Errorf("got request %+v, whose run has ended", j.Request)
	}
	o, now = observed(stored(lifecycle.InQueue, "spent"), "wanted", "absent", "none", "c")
	if j, _ := lifecycle.StepJob(o, now); j.Request == nil {
		t.Error("the request was dropped before its claim, and would be created again from it")
	}
}

func TestJobDelay(t *testing.T) {
	o, now := observed(stored(lifecycle.Running, ""), "wanted", "ended", "none", "r")
	o.RetryDelay = time.Minute
	j, actions := lifecycle.StepJob(o, now)
	if want := now.Add(time.Minute); !j.NotBefore.Equal(want) || j.Retries != 1 || j.Runs[0].Reason != "OOM" || actions[0].At != want {
		t.Errorf("%+v, %+v", j, actions)
	}
}

// Of many runs the last are kept, and attempts have unique numbers.
func TestJobForgetsOldRuns(t *testing.T) {
	var j lifecycle.Job
	for i := range 2 * maxRuns {
		j.State, j.SchedulingUID = lifecycle.InQueue, "s"
		j.Request = &lifecycle.Request{Slots: twoSlots, Attempt: j.NextAttempt()}
		j, _ = lifecycle.StepJob(lifecycle.JobObserved{Stored: j, Wanted: true, Check: lifecycle.Valid}, epoch)
		if run := j.Run(); run == nil || run.Attempt != i+1 {
			t.Fatalf("run %d is %+v", i, run)
		}
		j, _ = lifecycle.StepJob(lifecycle.JobObserved{Stored: j, Wanted: true, Fault: "x"}, epoch)
	}
	if len(j.Runs) != maxRuns || j.Runs[0].Attempt != maxRuns+1 || j.Run() != nil {
		t.Errorf("got %d runs from %d", len(j.Runs), j.Runs[0].Attempt)
	}
}

func TestText(t *testing.T) {
	for s := lifecycle.Ready; s <= lifecycle.Releasing; s++ {
		var back lifecycle.JobState
		if text := []byte(s.String()); back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%v: got decoded %v", s, back)
		}
	}
	for s := lifecycle.New; s <= lifecycle.Released; s++ {
		var back lifecycle.SchedulingState
		if text := []byte(s.String()); back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%v: got decoded %v", s, back)
		}
	}
	for o := lifecycle.Open; o <= lifecycle.RunCancelled; o++ {
		var back lifecycle.Outcome
		if text := []byte(o.String()); back.UnmarshalText(text) != nil || back != o {
			t.Errorf("%v: got decoded %v", o, back)
		}
	}
	s := lifecycle.Running
	err := s.UnmarshalText([]byte("running"))
	var fe *field.Error
	if !errors.As(err, &fe) || fe.Field != "JobState" || s != lifecycle.Running {
		t.Errorf("%v, %v", err, s)
	}
	if err := s.UnmarshalText(nil); err != nil || s != lifecycle.Ready {
		t.Errorf("%v, %v", err, s)
	}
	if got := fmt.Sprint(lifecycle.JobState(8), lifecycle.Active); got != "8 active" {
		t.Error(got)
	}
}
