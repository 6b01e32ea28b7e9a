package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// kinds are the jobs that a scheduling may list.
var kinds = []struct {
	name   string
	member lifecycle.Member
	had    bool
}{
	{"lacking", lifecycle.Member{Exists: true}, false},
	{"unknown", lifecycle.Member{}, false},
	{"deleted", lifecycle.Member{}, true},
	{"recreated", lifecycle.Member{Exists: true}, true},
	{"held", lifecycle.Member{Exists: true, Held: true}, true},
	{"queued", lifecycle.Member{Exists: true, Held: true, State: lifecycle.InQueue}, true},
	{"claiming", lifecycle.Member{Exists: true, Held: true, State: lifecycle.InQueue, Claimed: true}, true},
	{"waiting", lifecycle.Member{Exists: true, Held: true, State: lifecycle.InQueue, Waiting: true}, true},
	{"submitted", lifecycle.Member{Exists: true, Held: true, State: lifecycle.Submitted, Claimed: true, Begun: true}, true},
	{"scheduled", lifecycle.Member{Exists: true, Held: true, State: lifecycle.Scheduled, Claimed: true, Begun: true}, true},
	{"running", lifecycle.Member{Exists: true, Held: true, State: lifecycle.Running, Claimed: true, Begun: true}, true},
	{"completed", lifecycle.Member{Exists: true, Held: true, State: lifecycle.Completed, Begun: true}, true},
	{"failed", lifecycle.Member{Exists: true, Held: true, State: lifecycle.Failed, Begun: true}, true},
	{"releasing", lifecycle.Member{Exists: true, Held: true, State: lifecycle.Releasing}, true},
}

// wants vary further observations: e each is confirmed, s stop on failure, d deleting.
var wants = []string{"", "e", "s", "d", "es", "ed", "sd", "esd"}

func observedScheduling(state lifecycle.SchedulingState, a, b int, want string) lifecycle.SchedulingObserved {
	o := lifecycle.SchedulingObserved{
		Stored: lifecycle.Scheduling{State: state}, Turn: true, Finalizer: true,
		ConfirmEach: strings.Contains(want, "e"), StopOnFailure: strings.Contains(want, "s"), Deleting: strings.Contains(want, "d"),
	}
	if state > lifecycle.Acquiring {
		o.Stored.Started = since
	}
	if state > lifecycle.AwaitingCompletion {
		o.Stored.Completed = since
	}
	for i, k := range []int{a, b} {
		m := kinds[k].member
		m.Job = testbed.Name{Namespace: "lab", Name: string("ab"[i])}
		if kinds[k].had {
			o.Stored.Acquired = append(o.Stored.Acquired, m.Job)
		}
		if m.Held {
			o.Holds++
		}
		o.Members = append(o.Members, m)
	}
	return o
}

func spellScheduling(s lifecycle.Scheduling, actions []lifecycle.SchedulingAction) string {
	text := s.State.String()
	for _, a := range actions {
		text += " " + string(a.Op)
		for _, job := range a.Jobs {
			text += ":" + job.Name
		}
	}
	return text
}

// TestSchedulingStates records what each state becomes with each two jobs.
func TestSchedulingStates(t *testing.T) {
	var trace strings.Builder
	for state := lifecycle.New; state <= lifecycle.Released; state++ {
		for a := range kinds {
			for b := a; b < len(kinds); b++ {
				fmt.Fprintf(&trace, "%v, %s and %s\n", state, kinds[a].name, kinds[b].name)
				results := make(map[string][]string)
				for _, want := range wants {
					o := observedScheduling(state, a, b, want)
					s, actions := lifecycle.StepScheduling(o, epoch)
					if want == "" {
						want = "-"
					}
					key := spellScheduling(s, actions)
					results[key] = append(results[key], want)
				}
				keys := make([]string, 0, len(results))
				for key := range results {
					keys = append(keys, key)
				}
				slices.Sort(keys)
				for _, key := range keys {
					who := strings.Join(results[key], ",")
					if len(keys) == 1 {
						who = "always"
					}
					fmt.Fprintf(&trace, "    %s: %s\n", who, key)
				}
			}
		}
	}
	golden(t, "scheduling-states.golden", trace.String())
}

// A second step after a step changes nothing and requests the same.
func TestSchedulingStepTwice(t *testing.T) {
	hour := time.Hour
	for state := lifecycle.New; state <= lifecycle.Released; state++ {
		for a := range kinds {
			for b := range kinds {
				for i, want := range slices.Repeat(wants, 4) {
					o := observedScheduling(state, a, b, want)
					if i >= len(wants) {
						o.Turn, o.Finalizer, o.Exclusive, o.KeepFor = false, false, true, &hour
						o.Stored.Started = since
					}
					if i >= 2*len(wants) {
						o.Turn, o.KeepFor = true, new(time.Duration)
					}
					if i >= 3*len(wants) {
						o.Turn, o.Stored.Started = false, time.Time{}
					}
					what := fmt.Sprint(state, " ", kinds[a].name, " ", kinds[b].name, " ", want)
					given := o
					given.Members, given.Stored.Acquired = slices.Clone(o.Members), slices.Clone(o.Stored.Acquired)
					s, actions := lifecycle.StepScheduling(o, epoch)
					alike(t, what+": the input was modified", given, o)
					o.Stored = s
					again, same := lifecycle.StepScheduling(o, epoch)
					alike(t, what+": state after a second step", s, again)
					alike(t, what+": actions of a second step", actions, same)
				}
			}
		}
	}
}

// course is a scheduling in a story.
type course struct {
	t     *testing.T
	o     lifecycle.SchedulingObserved
	now   time.Time
	trace strings.Builder
}

func (c *course) after(d time.Duration, what string, change func()) {
	c.now = c.now.Add(d)
	change()
	c.o.Holds = 0
	for _, m := range c.o.Members {
		if m.Held {
			c.o.Holds++
		}
	}
	s, actions := lifecycle.StepScheduling(c.o, c.now)
	c.o.Stored = s
	fmt.Fprintf(&c.trace, "%6.0fs %s\n        %s\n", c.now.Sub(epoch).Seconds(), what, spellScheduling(s, actions))
	for _, a := range actions {
		if !a.At.IsZero() {
			fmt.Fprintf(&c.trace, "        again at %.0fs\n", a.At.Sub(epoch).Seconds())
		}
	}
}

// TestSchedulingCourse records the courses of three schedulings.
func TestSchedulingCourse(t *testing.T) {
	name := func(n string) testbed.Name { return testbed.Name{Namespace: "lab", Name: n} }
	c := &course{t: t, now: epoch}
	state := func(i int, s lifecycle.JobState, claimed bool) {
		c.o.Members[i].State, c.o.Members[i].Claimed = s, claimed
	}
	start := func(what string, jobs ...string) {
		c.o = lifecycle.SchedulingObserved{}
		for _, job := range jobs {
			c.o.Members = append(c.o.Members, lifecycle.Member{Job: name(job), Exists: true})
		}
		c.after(time.Second, what, func() {})
	}
	hold := func(i int) { c.o.Members[i].Held = true }

	start("two jobs, each to be confirmed", "b", "a")
	c.o.ConfirmEach = true
	c.after(1*time.Second, "its turn", func() { c.o.Turn, c.o.Finalizer = true, true })
	c.after(1*time.Second, "it has one", func() { hold(0) })
	c.after(1*time.Second, "it has both", func() { hold(1) })
	c.after(1*time.Second, "they are in the queue", func() { state(0, lifecycle.InQueue, false); state(1, lifecycle.InQueue, false) })
	c.after(1*time.Second, "one is granted slots", func() { state(0, lifecycle.InQueue, true) })
	c.after(1*time.Second, "and submitted", func() { state(0, lifecycle.Submitted, true) })
	c.after(1*time.Second, "and scheduled", func() { state(0, lifecycle.Scheduled, true) })
	c.after(1*time.Second, "the other is submitted", func() { state(1, lifecycle.Submitted, true) })
	c.after(1*time.Second, "and runs, as does the first", func() { state(0, lifecycle.Running, true); state(1, lifecycle.Running, true) })
	c.after(1*time.Second, "a job is added", func() {
		c.o.Turn = false
		c.o.Members = append(c.o.Members, lifecycle.Member{Job: name("c"), Exists: true})
	})
	c.after(1*time.Second, "one fails, to be tried again", func() {
		state(0, lifecycle.InQueue, false)
		c.o.Members[0].Waiting = true
	})
	c.after(1*time.Second, "it is time", func() { c.o.Members[0].Waiting = false })
	c.after(1*time.Second, "it runs", func() { state(0, lifecycle.Running, true) })
	c.after(1*time.Second, "the new one may be had", func() { c.o.Turn = true })
	c.after(1*time.Second, "it is had", func() { hold(2); state(2, lifecycle.InQueue, false) })
	c.after(1*time.Second, "it runs", func() { state(2, lifecycle.Running, true) })
	c.after(9*time.Second, "one completes, one fails, one is deleted", func() {
		state(0, lifecycle.Completed, true)
		state(1, lifecycle.Failed, false)
		c.o.Members[2] = lifecycle.Member{Job: name("c")}
	})
	c.after(1*time.Second, "it is deleted", func() { c.o.Deleting = true })
	c.after(1*time.Second, "its jobs are ready", func() { c.o.Members[0].Held, c.o.Members[1].Held = false, false })

	start("an exclusive one that stops, and is kept for a minute", "a", "b")
	minute := time.Minute
	c.o.StopOnFailure, c.o.KeepFor, c.o.Turn, c.o.Finalizer = true, &minute, true, true
	c.after(1*time.Second, "it has its jobs", func() {
		hold(0)
		hold(1)
		state(0, lifecycle.InQueue, false)
		state(1, lifecycle.InQueue, false)
	})
	c.after(1*time.Second, "and the testbed", func() { c.o.Exclusive = true; state(0, lifecycle.Running, true); state(1, lifecycle.Running, true) })
	c.after(1*time.Second, "one fails", func() { state(0, lifecycle.Failed, true) })
	c.after(1*time.Second, "its slots are free", func() { state(0, lifecycle.Failed, false) })
	c.after(1*time.Second, "the other ends", func() { state(1, lifecycle.Completed, false) })
	c.after(57*time.Second, "it is not time", func() { c.o.Exclusive = false })
	c.after(1*time.Second, "it is time", func() {})
	c.after(1*time.Second, "it is deleted", func() { c.o.Deleting = true })
	c.after(1*time.Second, "its jobs are ready", func() { c.o.Members[0].Held, c.o.Members[1].Held = false, false })
	c.after(1*time.Second, "its finalizer is removed", func() { c.o.Finalizer = false })

	start("one whose jobs were done with nobody looking", "a")
	c.o.Finalizer, c.o.Exclusive = true, true
	c.after(1*time.Second, "all at once", func() { hold(0); state(0, lifecycle.Completed, false) })
	c.after(1*time.Second, "a job is added that another has", func() {
		c.o.Exclusive = false
		c.o.Members = append(c.o.Members, lifecycle.Member{Job: name("b"), Exists: true, State: lifecycle.Running})
	})
	c.after(1*time.Second, "its turn", func() { state(1, lifecycle.Ready, false); c.o.Turn = true })
	c.after(1*time.Second, "it is had", func() { hold(1) })
	c.after(1*time.Second, "it is in the queue", func() { state(1, lifecycle.InQueue, false) })
	c.after(1*time.Second, "it completes", func() { state(1, lifecycle.Completed, false) })
	c.after(1*time.Second, "the first is deleted and made anew", func() { c.o.Members[0] = lifecycle.Member{Job: name("a"), Exists: true} })
	c.after(1*time.Second, "all are taken out", func() { c.o.Members = nil })
	golden(t, "scheduling-course.golden", c.trace.String())
}

// A failed scheduling keeps the testbed exclusively until none of its jobs is in a slot.
func TestSchedulingUnlocks(t *testing.T) {
	for want, m := range map[string]lifecycle.Member{
		"Failed":        {Exists: true, Held: true, State: lifecycle.Failed, Claimed: true},
		"Failed ":       {Exists: true, Held: true, State: lifecycle.Running},
		"Failed unlock": {Exists: true, Held: true, State: lifecycle.InQueue},
	} {
		o := observedScheduling(lifecycle.SchedulingFailed, 5, 5, "s")
		o.Members[1], o.Exclusive = m, true
		s, actions := lifecycle.StepScheduling(o, epoch)
		if got := spellScheduling(s, actions); got != strings.TrimSpace(want) {
			t.Errorf("%+v: %s, want %s", m, got, want)
		}
	}
}

// Two schedulings each add a job that the other has: both complete once their own jobs have ended, an
// exclusive one releases the testbed, and once one is deleted the other gets the job.
func TestSchedulingsThatWaitForEachOther(t *testing.T) {
	name := func(n string) testbed.Name { return testbed.Name{Namespace: "lab", Name: n} }
	member := func(n string, s lifecycle.JobState, held bool) lifecycle.Member {
		return lifecycle.Member{Job: name(n), Exists: true, State: s, Held: held}
	}
	step := func(o lifecycle.SchedulingObserved, now time.Time, want string) lifecycle.Scheduling {
		t.Helper()
		s, actions := lifecycle.StepScheduling(o, now)
		if got := spellScheduling(s, actions); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		return s
	}
	var keep time.Duration
	base := lifecycle.Scheduling{State: lifecycle.AwaitingCompletion, Started: since}
	one := lifecycle.SchedulingObserved{Stored: base, Finalizer: true, Exclusive: true, Holds: 1, KeepFor: &keep}
	one.Members = []lifecycle.Member{member("a", lifecycle.Running, true), member("b", lifecycle.InQueue, false)}
	one.Stored = step(one, epoch, "Acquiring")
	one.Members[0].State = lifecycle.Completed
	one.Stored = step(one, epoch, "Completed unlock delete")
	two := lifecycle.SchedulingObserved{Stored: base, Finalizer: true, Holds: 1}
	two.Members = []lifecycle.Member{member("b", lifecycle.Failed, true), member("a", lifecycle.Completed, false)}
	two.Stored = step(two, epoch, "Completed")
	if got := two.Lacking(); !slices.Equal(got, []testbed.Name{name("a")}) {
		t.Errorf("got applications for %v", got)
	}
	two.Members[1].State, two.Turn = lifecycle.Ready, true // the first is deleted
	two.Stored = step(two, epoch, "Completed acquire:a")
	two.Members[1].Held, two.Holds = true, 2
	two.Stored = step(two, epoch, "Submitting")
	two.Members[1].State = lifecycle.InQueue
	two.Stored = step(two, epoch, "Submitting submit:a")
	two.Members[1].State = lifecycle.Running
	step(two, epoch, "AwaitingCompletion")
	lost := two // the last stored state is older
	lost.Stored.State = lifecycle.SchedulingCompleted
	step(lost, epoch, "AwaitingCompletion")
	two.Members[1].State = lifecycle.Completed
	if s := step(two, epoch.Add(time.Hour), "Completed"); !s.Completed.Equal(epoch.Add(time.Hour)) || !s.Started.Equal(since) {
		t.Errorf("%+v", s)
	}
	for _, state := range []lifecycle.SchedulingState{lifecycle.SchedulingFailed, lifecycle.SchedulingReleasing, lifecycle.Released} {
		two.Stored.State = state
		two.Members[1] = member("c", lifecycle.Ready, false)
		if got := two.Lacking(); got != nil {
			t.Errorf("%v: got applications for %v", state, got)
		}
	}
	two.Stored.State, two.Deleting = lifecycle.Acquiring, true
	if got := two.Lacking(); got != nil {
		t.Errorf("deleted scheduling: got applications for %v", got)
	}
}

// Two schedulings of the same jobs each reserved both and got one, as two controllers decided
// concurrently: whatever either got runs, then it waits no longer. It may get the other's job once that
// scheduling is gone, but no job that was deleted.
func TestSchedulingsThatStartEachOthersJobs(t *testing.T) {
	name := func(n string) testbed.Name { return testbed.Name{Namespace: "lab", Name: n} }
	begun := func(s lifecycle.JobState) lifecycle.Member {
		return lifecycle.Member{Job: name("a"), Exists: true, Held: true, State: s, Begun: true}
	}
	o := lifecycle.SchedulingObserved{Finalizer: true, Holds: 1}
	o.Stored = lifecycle.Scheduling{State: lifecycle.Acquiring, Acquired: []testbed.Name{name("a"), name("b"), name("c")}}
	step := func(first lifecycle.Member, others lifecycle.JobState, want string) {
		t.Helper()
		o.Members = []lifecycle.Member{first, {Job: name("b"), Exists: true, State: others}, {Job: name("c")}}
		s, actions := lifecycle.StepScheduling(o, epoch)
		if got := spellScheduling(s, actions); got != want {
			t.Errorf("%v: %s, want %s", first.State, got, want)
		}
		o.Stored = s
	}
	for _, s := range []lifecycle.JobState{lifecycle.Submitted, lifecycle.Scheduled, lifecycle.Running} {
		step(begun(s), lifecycle.Running, "Acquiring")
	}
	// Jobs that never had slots can be released: it waits for both.
	refused := begun(lifecycle.Failed)
	refused.Begun = false
	step(refused, lifecycle.Running, "Acquiring")
	again := begun(lifecycle.InQueue)
	again.Waiting = true
	step(again, lifecycle.Running, "Acquiring")
	step(begun(lifecycle.Completed), lifecycle.Running, "Completed")
	want := lifecycle.Scheduling{
		State: lifecycle.SchedulingCompleted, Started: epoch, Completed: epoch, Acquired: []testbed.Name{name("a"), name("c")},
	}
	if diff := cmp.Diff(want, o.Stored); diff != "" {
		t.Error(diff)
	}
	if got := o.Lacking(); !slices.Equal(got, []testbed.Name{name("b")}) {
		t.Errorf("got applications for %v", got)
	}
	o.Turn = true // the other is gone
	step(begun(lifecycle.Completed), lifecycle.Ready, "Completed acquire:b")
	o.Turn = false
	o.Members[1].Held, o.Members[1].State = true, lifecycle.InQueue
	s, actions := lifecycle.StepScheduling(o, epoch)
	if got := spellScheduling(s, actions); got != "Submitting submit:b" {
		t.Error(got)
	}
}

// Each job is confirmed, also while the scheduling waits for a job that was added.
func TestSchedulingConfirmsWhileItWaits(t *testing.T) {
	o := observedScheduling(lifecycle.Acquiring, 8, 5, "e") // submitted, queued
	o.Stored.Started, o.Turn = since, false
	o.Members = append(o.Members, lifecycle.Member{Job: testbed.Name{Namespace: "lab", Name: "c"}, Exists: true, State: lifecycle.Running})
	for state, want := range map[lifecycle.JobState]string{lifecycle.Submitted: "Acquiring", lifecycle.Scheduled: "Acquiring submit:b"} {
		o.Members[0].State = state
		s, actions := lifecycle.StepScheduling(o, epoch)
		if got := spellScheduling(s, actions); got != want {
			t.Errorf("%v: %s, want %s", state, got, want)
		}
	}
}

// A deleted scheduling keeps the testbed exclusively until its jobs are ready, and releases it before
// it is gone.
func TestDeletedSchedulingUnlocks(t *testing.T) {
	for _, state := range []lifecycle.SchedulingState{lifecycle.Acquiring, lifecycle.Submitting, lifecycle.SchedulingFailed, lifecycle.SchedulingReleasing} {
		o := observedScheduling(state, 10, 10, "d") // running
		o.Exclusive = true
		s, actions := lifecycle.StepScheduling(o, epoch)
		if got := spellScheduling(s, actions); got != "Releasing" {
			t.Errorf("%v: %s", state, got)
		}
		o.Stored, o.Holds = s, 0
		s, actions = lifecycle.StepScheduling(o, epoch)
		if got := spellScheduling(s, actions); got != "Released unlock remove-finalizer" {
			t.Errorf("%v: %s", state, got)
		}
	}
}

// The scheduling's own times, and the jobs that it had.
func TestSchedulingRecord(t *testing.T) {
	o := observedScheduling(lifecycle.Acquiring, 5, 5, "")
	o.Stored = lifecycle.Scheduling{State: lifecycle.Acquiring, Acquired: []testbed.Name{{Namespace: "lab", Name: "x"}}}
	o.Members[0].Job.Name = "z"
	s, _ := lifecycle.StepScheduling(o, epoch)
	want := lifecycle.Scheduling{State: lifecycle.Submitting, Started: epoch, Acquired: []testbed.Name{{Namespace: "lab", Name: "b"}, {Namespace: "lab", Name: "z"}}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	o.Stored = s
	o.Members[0].State, o.Members[1].State = lifecycle.Completed, lifecycle.Failed
	s, _ = lifecycle.StepScheduling(o, epoch.Add(time.Minute))
	want.State, want.Completed = lifecycle.SchedulingCompleted, epoch.Add(time.Minute)
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	// An extension does not restart the clock.
	o.Stored = lifecycle.Scheduling{State: lifecycle.Acquiring, Started: since}
	if s, _ = lifecycle.StepScheduling(o, epoch); !s.Started.Equal(since) {
		t.Errorf("got start %v", s.Started)
	}
	if got := lifecycle.SchedulingState(99).String(); got != "99" {
		t.Error(got)
	}
}
