package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/web"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// run returns one of pods created at its start, done after that many seconds.
func run(profile string, ended bool, seconds ...float64) web.Run {
	r := web.Run{Profile: profile, Started: noon, Ended: ended, Submitted: len(seconds), Total: len(seconds), Done: len(seconds)}
	for _, s := range seconds {
		d := time.Duration(s * float64(time.Second))
		r.Completions = append(r.Completions, web.Completion{Since: d, Took: d})
	}
	return r
}

func ExampleVerdict() {
	runs := []web.Run{run("default-scheduler", true, 60, 70, 80), run("spazio", true, 20, 40, 83)}
	for _, line := range web.Verdict(web.State{Comparable: true, Runs: runs}) {
		fmt.Println(line)
	}
	// Output:
	// spazio's pods are done 32 % sooner than default-scheduler's.
	// On average 48 s from creation to done, against 70 s; the last of 3 pods after 83 s, against 80 s.
}

func TestVerdict(t *testing.T) {
	failed := run("spazio", true, 30)
	failed.Submitted, failed.Failed = 3, 2
	none := run("spazio", true)
	none.Submitted, none.Failed = 3, 3
	other := run("default-scheduler", true, 60, 70, 80)
	more := other
	more.Submitted = 4
	running := run("spazio", false, 10, 20)
	running.Submitted, running.Total = 3, 3
	open := running
	open.Total = 0
	early := run("spazio", false)
	early.Submitted, early.Total = 1, 3
	unborn := web.Run{Profile: "spazio", Total: 3}
	at := func(s float64) time.Time { return noon.Add(time.Duration(s * 1e9)) }
	for _, test := range []struct {
		name  string
		state web.State
		want  []string
	}{
		{"nothing", web.State{Comparable: true}, []string{"No pod has been created yet."}},
		{"the order is of no importance", web.State{Comparable: true, Runs: []web.Run{run("spazio", true, 20, 40, 83), other}}, []string{
			"spazio's pods are done 32 % sooner than default-scheduler's.",
			"On average 48 s from creation to done, against 70 s; the last of 3 pods after 83 s, against 80 s."}},
		{"spazio loses", web.State{Comparable: true, Runs: []web.Run{other, run("spazio", true, 60, 90, 150)}}, []string{
			"default-scheduler's pods are done 30 % sooner than spazio's.",
			"On average 70 s from creation to done, against 100 s; the last of 3 pods after 80 s, against 2 min 30 s."}},
		{"alike", web.State{Comparable: true, Runs: []web.Run{other, run("spazio", true, 58, 68, 78)}}, []string{
			"spazio's pods are done about as soon as default-scheduler's.",
			"On average 68 s from creation to done, against 70 s; the last of 3 pods after 78 s, against 80 s."}},
		{"three", web.State{Comparable: true, Runs: []web.Run{other, run("spazio", true, 30, 35, 40), run("pronto", true, 50, 50, 50)}}, []string{
			"spazio's pods are done 30 % sooner than pronto's and 50 % sooner than default-scheduler's.",
			"On average 35 s from creation to done, against 50 s and 70 s; the last of 3 pods after 40 s, against 50 s and 80 s."}},
		{"failures are told", web.State{Comparable: true, Runs: []web.Run{other, failed}}, []string{
			"spazio's pods are done 57 % sooner than default-scheduler's.",
			"On average 30 s from creation to done, against 70 s; the last of 3 pods after 30 s, against 80 s.",
			"2 of spazio's 3 pods failed, and no time counts them."}},
		{"none is done", web.State{Comparable: true, Runs: []web.Run{other, none}}, []string{
			"None of spazio's 3 pods was done.", "3 of spazio's 3 pods failed, and no time counts them."}},
		{"other batches", web.State{Comparable: true, Runs: []web.Run{more, run("spazio", true, 1, 2, 3)}}, []string{
			"The profiles can't be compared: default-scheduler had 4 pods, spazio 3."}},
		{"the first runs", web.State{At: at(25), Comparable: true, Runs: []web.Run{running, unborn}}, []string{
			"spazio runs: 2 of 3 pods done after 25 s.", "There is nothing to compare it with yet."}},
		{"the second is to come", web.State{At: at(25), Comparable: true, Runs: []web.Run{other, unborn}}, []string{
			"default-scheduler's pods were done 70 s after their creation, on average; there is nothing to compare them with."}},
		{"ahead", web.State{At: at(65), Comparable: true, Runs: []web.Run{other, running}}, []string{
			"So far spazio is ahead of default-scheduler.", "After 65 s 2 of its 3 pods are done; by then default-scheduler had 1."}},
		{"behind", web.State{At: at(85), Comparable: true, Runs: []web.Run{other, open}}, []string{
			"So far spazio is behind default-scheduler.", "After 85 s 2 of its 3 pods are done; by then default-scheduler had 3."}},
		{"level", web.State{At: at(5), Comparable: true, Runs: []web.Run{other, early}}, []string{
			"So far spazio is level with default-scheduler.", "After 5.0 s 0 of its 3 pods are done; by then default-scheduler had 0."}},
		{"no runs are compared", web.State{At: at(100), Runs: []web.Run{other, running}, Nodes: []web.Node{{}, {Reason: "full"}, {}},
			Waiting: []web.Waiting{{Since: at(59)}, {Since: at(99)}}, WaitingTotal: 1234}, []string{
			"2 of 3 nodes take pods. 1,234 pods wait, the longest for 41 s.",
			"Of default-scheduler's last 3 pods done, half took 70 s at most from their creation.",
			"Of spazio's last 2 pods done, half took 10 s at most from their creation.",
			"These times don't compare the profiles: their pods differ, or this machine was too slow."}},
		{"one waits", web.State{At: at(100), Nodes: []web.Node{{Reason: "full"}}, Waiting: []web.Waiting{{Since: at(40)}}}, []string{"None of 1 node takes pods. 1 pod waits for 60 s."}},
		// A node that takes pods by requests alone takes pods.
		{"by requests alone", web.State{Nodes: []web.Node{{Reason: "no agent has reported", ByRequests: true}, {Reason: "full"}, {}}}, []string{"2 of 3 nodes take pods. No pod waits."}},
		{"all is well", web.State{Nodes: []web.Node{{}, {}}}, []string{"All 2 nodes take pods. No pod waits."}},
		{"nothing there", web.State{}, []string{"There are no nodes. No pod waits."}},
	} {
		before := fmt.Sprint(test.state)
		if diff := cmp.Diff(test.want, web.Verdict(test.state)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if after := fmt.Sprint(test.state); after != before {
			t.Errorf("%s: the state was changed: %s", test.name, after)
		}
	}
}

// The curves of comparable runs count pods done by a time, those of others pods that took at most
// that long; both ignore the future.
func TestCurves(t *testing.T) {
	ended := run("default-scheduler", true)
	for i := range 300 {
		ended.Completions = append(ended.Completions, web.Completion{Since: time.Duration(i+1) * 250 * time.Millisecond, Took: time.Duration(i%50+1) * time.Second})
	}
	slices.Reverse(ended.Completions)
	ended.Submitted, ended.Done = 300, 300
	running := run("spazio", false, 1, 2, 3, 30, 30, 31)
	s := web.State{At: noon.Add(40 * time.Second), Comparable: true, Runs: []web.Run{ended, running, {Profile: "unborn"}}}
	r := play(t, s)
	r.toTheEnd()
	c := r.Curves
	if c.Kind != "done" || c.From != 0 || c.Step != .5 || len(c.Y) != 3 || len(c.Y[2]) != 0 {
		t.Fatalf("%+v", c)
	}
	if n := len(c.Y[0]); n != 151 || *c.Y[0][150] != 300 {
		t.Errorf("%d points of 75 s", n)
	}
	if n := len(c.Y[1]); n != 81 {
		t.Errorf("%d points of 40 s", n)
	}
	for i, y := range c.Y {
		for k, v := range y {
			n := 0
			for _, done := range s.Runs[i].Completions {
				if done.Since.Seconds() <= float64(k)*.5 {
					n++
				}
			}
			if *v != float64(n) {
				t.Errorf("run %d after %v s: %v, want %d", i, float64(k)*.5, *v, n)
			}
		}
	}
	rates := r.Rates
	if rates.Kind != "rate" || rates.Step != 2 || len(rates.Y[0]) != 39 || len(rates.Y[1]) != 21 || rates.Y[0][0] != nil || *rates.Y[0][1] != 4 || *rates.Y[1][1] != 1 || *rates.Y[1][15] != 1 {
		t.Errorf("%v %v %v: %s", rates.Kind, rates.Step, len(rates.Y[1]), values(rates.Y[1]))
	}
	if got := r.Runs; got[0].Rate != 4 || got[0].Over != 75 || got[1].Rate != .1 || got[1].Over != 10 || got[0].Mean != 25.5 || got[0].Last != 75 || got[2].Over != 0 {
		t.Errorf("%+v", got)
	}

	s.Comparable, s.Runs[0].Ended, s.Runs[0].Done, s.Runs[0].Resolution = false, false, 1000, time.Second
	s.Runs[0].Started, s.At = noon.Add(-time.Hour), noon.Add(80*time.Second)
	for i := range s.Runs[0].Completions {
		s.Runs[0].Completions[i].Since += time.Hour
	}
	r = play(t, s)
	r.toTheEnd()
	c = r.Curves
	if c.Kind != "within" || c.Step != 1 || *c.Y[0][10] != 20 || *c.Y[0][50] != 100 || *c.Y[1][3] != 50 || *c.Y[1][0] != 0 {
		t.Errorf("%+v %s", c, values(c.Y[0]))
	}
	rates = r.Rates
	// Before its oldest completion the first run is unknown.
	if rates.Kind != "ago" || rates.From+40*rates.Step != 0 || rates.Step != 2 || rates.Y[0][1] != nil || *rates.Y[0][2] != 4 || *rates.Y[0][38] != 2 || *rates.Y[0][40] != 0 {
		t.Errorf("%+v %s", rates, values(rates.Y[0]))
	}
}

func values(y []*float64) string {
	var b strings.Builder
	for _, v := range y {
		if v == nil {
			b.WriteString(" -")
		} else {
			fmt.Fprintf(&b, " %g", *v)
		}
	}
	return b.String()
}
