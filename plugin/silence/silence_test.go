package silence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/plugin/silence"
)

// fleet is nodes by name, as they were heard last.
type fleet []silence.Node

// report has some nodes report at a time.
func (f fleet) report(at time.Duration, which ...int) {
	for _, i := range which {
		f[i].Reported, f[i].Sampled = true, at
	}
}

// at is the fleet at a time: what is younger than 5 s is fresh.
func (f fleet) at(now time.Duration) []silence.Node {
	nodes := make([]silence.Node, len(f))
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

func said(events []silence.Event) (words []string) {
	for _, e := range events {
		word := "back"
		if e.Lost {
			word = "lost"
		}
		words = append(words, fmt.Sprintf("%s %s since %v, %d of %d", e.Node, word, e.Since, e.Silent, e.Nodes))
	}
	return words
}

// TestOneNode falls silent, comes back, and flaps.
func TestOneNode(t *testing.T) {
	f := newFleet(2)
	p := silence.New(silence.Config{})
	f.report(0, 0)
	var got []string
	for now := time.Duration(0); now <= time.Hour; now += 5 * time.Second {
		switch {
		case now < 20*time.Minute: // silent from the start
		case now < 22*time.Minute, now > 40*time.Minute:
			f.report(now, 0)
		}
		for _, w := range said(p.Step(now, f.at(now))) {
			got = append(got, fmt.Sprint(now, " ", w))
		}
	}
	want := []string{
		"5m0s n000 lost since 0s, 1 of 2", "20m0s n000 back since 0s, 0 of 2",
		// Silent from 21m55s: lost at 26m55s, which is told when ten minutes have passed.
		"30m0s n000 lost since 21m55s, 1 of 2", "40m5s n000 back since 21m55s, 0 of 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A node that is back before it was told, or before ten minutes have passed and is lost
// again, is told of nothing.
func TestNothingInVain(t *testing.T) {
	f := newFleet(1)
	p := silence.New(silence.Config{})
	f.report(0, 0)
	step := func(now time.Duration) []string { return said(p.Step(now, f.at(now))) }
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

// A fleet that falls silent at once makes no flood, and each event tells how many there are.
func TestFleet(t *testing.T) {
	f := newFleet(5000)
	p := silence.New(silence.Config{})
	for i := range f {
		f.report(0, i)
	}
	told, perMinute := map[string]int{}, map[time.Duration]int{}
	for now := time.Duration(0); now <= 30*time.Minute; now += 5 * time.Second {
		if now > 25*time.Minute {
			for i := range f {
				f.report(now, i)
			}
		}
		for _, e := range p.Step(now, f.at(now)) {
			told[e.Node]++
			perMinute[now/time.Minute]++
			if e.Lost && (e.Silent != 5000 || e.Nodes != 5000) {
				t.Fatalf("%+v", e)
			}
		}
	}
	for minute, n := range perMinute {
		if n > 30 {
			t.Errorf("%d events in minute %d", n, minute)
		}
	}
	if len(told) < 200 || len(told) > 230 { // 20, and 10 a minute for 20 minutes
		t.Errorf("%d nodes are told", len(told))
	}
}

// Who stood still does not take everybody for silent.
func TestStandStill(t *testing.T) {
	f := newFleet(3)
	p := silence.New(silence.Config{})
	f.report(0, 0, 1, 2)
	p.Step(0, f.at(0))
	wake := time.Hour
	if got := said(p.Step(wake, f.at(wake))); got != nil {
		t.Errorf("after a sleep: %q", got)
	}
	for now := wake; now <= wake+10*time.Minute; now += 5 * time.Second {
		f.report(now, 0, 1)
		got := said(p.Step(now, f.at(now)))
		if want := now == wake+5*time.Minute; (len(got) == 1) != want {
			t.Errorf("%v: %q", now, got)
		}
	}
}

// Of two that hear the same, the one that was silent itself goes on where the other ends.
func TestTwoPlanTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := newFleet(40)
	a, b := silence.New(silence.Config{}), silence.New(silence.Config{})
	for now := time.Duration(0); now < 3*time.Hour; now += 5 * time.Second {
		f.stir(r, now)
		if diff := cmp.Diff(a.Step(now, f.at(now)), b.Step(now, f.at(now))); diff != "" {
			t.Fatal(now, diff)
		}
	}
}

// stir has nodes report and fall silent at random for minutes.
func (f fleet) stir(r *rand.Rand, now time.Duration) {
	for i := range f {
		if (int(now/(7*time.Minute))+i)%3 != 0 || r.IntN(200) == 0 {
			f.report(now, i)
		}
	}
}

// Whatever nodes do: each is told in turn that it is lost and back, no sooner than ten minutes
// after the last, lost only after five minutes of silence, and all no faster than the bucket.
func TestAlways(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		f := newFleet(1 + r.IntN(60))
		p := silence.New(silence.Config{})
		last, lost := map[string]time.Duration{}, map[string]bool{}
		total := 0
		for now := time.Duration(0); now < 2*time.Hour; now += time.Duration(1+r.IntN(20)) * time.Second {
			f.stir(r, now)
			nodes := f.at(now)
			for _, e := range p.Step(now, nodes) {
				total++
				if at, told := last[e.Node]; told && now-at < 10*time.Minute {
					t.Fatalf("seed %d: %s told after %v", seed, e.Node, now-at)
				}
				if e.Lost == lost[e.Node] {
					t.Fatalf("seed %d: %s told the same again", seed, e.Node)
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

// A node that is gone is forgotten: one of its name begins anew.
func TestForgets(t *testing.T) {
	f := newFleet(1)
	p := silence.New(silence.Config{After: time.Second, Gap: time.Hour})
	f.report(0, 0)
	if got := p.Step(10*time.Second, f.at(10*time.Second)); len(got) != 1 {
		t.Fatal(got)
	}
	p.Step(11*time.Second, nil)
	if got := p.Step(12*time.Second, f.at(12*time.Second)); len(got) != 1 || !got[0].Lost {
		t.Errorf("%+v", got)
	}
	q := silence.New(silence.Config{After: time.Second, Gap: time.Hour})
	never := newFleet(1)
	if got := q.Step(time.Minute, never.at(time.Minute)); got != nil {
		t.Errorf("a node that never reported: %+v", got)
	}
}
