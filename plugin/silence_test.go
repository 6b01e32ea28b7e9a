package plugin

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fleet is a list of nodes with the times of their last reports.
type fleet []silentNode

// report makes some nodes report at a time.
func (f fleet) report(at time.Duration, which ...int) {
	for _, i := range which {
		f[i].Reported, f[i].Sampled = true, at
	}
}

// at returns the fleet at a time: reports younger than 5 s are fresh.
func (f fleet) at(now time.Duration) []silentNode {
	nodes := make([]silentNode, len(f))
	for i, n := range f {
		n.Fresh = n.Reported && now-n.Sampled < 5*time.Second
		nodes[i] = n
	}
	return nodes
}

func newFleet(n int) fleet {
	f := make(fleet, n)
	for i := range f {
		f[i].Name = fmt.Sprintf("n%03d", i)
	}
	return f
}

func format(events []silenceEvent) (words []string) {
	for _, e := range events {
		word := "back"
		if e.Lost {
			word = "lost"
		}
		words = append(words, fmt.Sprintf("%s %s since %v, %d of %d", e.Node, word, e.Since, e.Silent, e.Nodes))
	}
	return words
}

// TestSilenceOneNode: one of two nodes falls silent, reports again, and flaps.
func TestSilenceOneNode(t *testing.T) {
	f := newFleet(2)
	p := newSilencePlanner(5*time.Minute, silenceGap)
	f.report(0, 0)
	var got []string
	for now := time.Duration(0); now <= time.Hour; now += 5 * time.Second {
		switch {
		case now < 20*time.Minute: // silent from the start
		case now < 22*time.Minute, now > 40*time.Minute:
			f.report(now, 0)
		}
		for _, w := range format(p.step(now, f.at(now))) {
			got = append(got, fmt.Sprint(now, " ", w))
		}
	}
	want := []string{
		"5m0s n000 lost since 0s, 1 of 2", "20m0s n000 back since 0s, 0 of 2",
		// Silent from 21m55s: lost at 26m55s, with the event after the ten minutes.
		"30m0s n000 lost since 21m55s, 1 of 2", "40m5s n000 back since 21m55s, 0 of 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A node that reports again before its event, or is lost again before ten minutes have passed, gets no
// event.
func TestSilenceNothingInVain(t *testing.T) {
	f := newFleet(1)
	p := newSilencePlanner(5*time.Minute, silenceGap)
	f.report(0, 0)
	step := func(now time.Duration) []string { return format(p.step(now, f.at(now))) }
	var got []string
	for now := time.Duration(0); now <= 16*time.Minute; now += 5 * time.Second {
		if now >= 7*time.Minute && now <= 8*time.Minute {
			f.report(now, 0)
		}
		got = append(got, step(now)...)
	}
	if diff := cmp.Diff([]string{"n000 lost since 0s, 1 of 1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A fleet that falls silent at once causes no flood, and each event has the number of silent nodes.
func TestSilenceFleet(t *testing.T) {
	f := newFleet(5000)
	p := newSilencePlanner(5*time.Minute, silenceGap)
	for i := range f {
		f.report(0, i)
	}
	events, perMinute := map[string]int{}, map[time.Duration]int{}
	for now := time.Duration(0); now <= 30*time.Minute; now += 5 * time.Second {
		if now > 25*time.Minute {
			for i := range f {
				f.report(now, i)
			}
		}
		for _, e := range p.step(now, f.at(now)) {
			events[e.Node]++
			perMinute[now/time.Minute]++
			if e.Lost && (e.Silent != 5000 || e.Nodes != 5000) {
				t.Fatalf("%+v", e)
			}
		}
	}
	for minute, n := range perMinute {
		if n > 30 {
			t.Errorf("got %d events in minute %d", n, minute)
		}
	}
	if len(events) < 200 || len(events) > 230 { // 20, and 10 a minute for 20 minutes
		t.Errorf("got events of %d nodes", len(events))
	}
}

// After a standstill of the process no node counts as silent.
func TestSilenceStandStill(t *testing.T) {
	f := newFleet(3)
	p := newSilencePlanner(5*time.Minute, silenceGap)
	f.report(0, 0, 1, 2)
	p.step(0, f.at(0))
	wake := time.Hour
	if got := format(p.step(wake, f.at(wake))); got != nil {
		t.Errorf("after a sleep: got %q", got)
	}
	for now := wake; now <= wake+10*time.Minute; now += 5 * time.Second {
		f.report(now, 0, 1)
		got := format(p.step(now, f.at(now)))
		if want := now == wake+5*time.Minute; (len(got) == 1) != want {
			t.Errorf("%v: %q", now, got)
		}
	}
}

// Of two processes with the same reports, one that was stopped reaches the same plan as the other.
func TestSilenceTwoPlanTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := newFleet(40)
	a, b := newSilencePlanner(5*time.Minute, silenceGap), newSilencePlanner(5*time.Minute, silenceGap)
	for now := time.Duration(0); now < 3*time.Hour; now += 5 * time.Second {
		f.stir(r, now)
		if diff := cmp.Diff(a.step(now, f.at(now)), b.step(now, f.at(now))); diff != "" {
			t.Fatal(now, diff)
		}
	}
}

// stir makes nodes report and fall silent at random for minutes.
func (f fleet) stir(r *rand.Rand, now time.Duration) {
	for i := range f {
		if (int(now/(7*time.Minute))+i)%3 != 0 || r.IntN(200) == 0 {
			f.report(now, i)
		}
	}
}

// For any reports: each node's events alternate between lost and back, at least ten minutes apart, lost
// only after five minutes of silence, and all within the rate limit.
func TestSilenceAlways(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		f := newFleet(1 + r.IntN(60))
		p := newSilencePlanner(5*time.Minute, silenceGap)
		last, lost := map[string]time.Duration{}, map[string]bool{}
		total := 0
		for now := time.Duration(0); now < 2*time.Hour; now += time.Duration(1+r.IntN(20)) * time.Second {
			f.stir(r, now)
			nodes := f.at(now)
			for _, e := range p.step(now, nodes) {
				total++
				if at, events := last[e.Node]; events && now-at < 10*time.Minute {
					t.Fatalf("seed %d: %s: got event after %v", seed, e.Node, now-at)
				}
				if e.Lost == lost[e.Node] {
					t.Fatalf("seed %d: %s: got the same event again", seed, e.Node)
				}
				last[e.Node], lost[e.Node] = now, e.Lost
				for _, n := range nodes {
					if n.Name == e.Node && (e.Lost && now-n.Sampled < 5*time.Minute || !e.Lost && !n.Fresh || !n.Reported) {
						t.Fatalf("seed %d: %+v of %+v at %v", seed, e, n, now)
					}
				}
			}
			if most := 20 + int(now/(6*time.Second)) + 1; total > most {
				t.Fatalf("seed %d: %d events by %v", seed, total, now)
			}
		}
	}
}

// A deleted node is forgotten: a new node of its name starts afresh.
func TestSilenceForgets(t *testing.T) {
	f := newFleet(1)
	p := newSilencePlanner(time.Second, time.Hour)
	f.report(0, 0)
	if got := p.step(10*time.Second, f.at(10*time.Second)); len(got) != 1 {
		t.Fatal(got)
	}
	p.step(11*time.Second, nil)
	if got := p.step(12*time.Second, f.at(12*time.Second)); len(got) != 1 || !got[0].Lost {
		t.Errorf("%+v", got)
	}
	q := newSilencePlanner(time.Second, time.Hour)
	never := newFleet(1)
	if got := q.step(time.Minute, never.at(time.Minute)); got != nil {
		t.Errorf("node that never reported: got %+v", got)
	}
}
