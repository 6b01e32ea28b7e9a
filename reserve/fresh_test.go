package reserve_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

const s = time.Second

func TestFreshness(t *testing.T) {
	const (
		admitted, stale, saturated = reserve.Admitted, reserve.Stale, reserve.Saturated
		noRoom, slowStart          = reserve.NoRoom, reserve.SlowStart
		never                      = -time.Hour
	)
	none, hour := reserve.Freshness{}, reserve.Freshness{Grace: time.Hour}
	reject, allow := reserve.Freshness{Policy: reserve.Reject}, reserve.Freshness{Policy: reserve.Allow}
	for _, test := range []struct {
		name      string
		freshness reserve.Freshness
		reported  time.Duration // the time of the report; the node appeared at 2 s
		now       time.Duration
		verdict   reserve.Verdict
		want      reserve.Reason
		fresh     bool
		ranked    bool
	}{
		{"fresh", none, 10 * s, 15 * s, reserve.Verdict{Reported: noRoom}, noRoom, true, true},
		{"fresh, with pods that are overdue", none, 10 * s, 15 * s, reserve.Verdict{Unseen: slowStart}, admitted, true, true},
		{"old", none, 10 * s, 15*s + 1, reserve.Verdict{}, admitted, false, false},
		{"old and at the slow-start limit", none, 10 * s, 15*s + 1, reserve.Verdict{Unseen: slowStart}, slowStart, false, false},
		{"at the slow-start limit for ever", none, 10 * s, 1e6 * s, reserve.Verdict{Reported: slowStart, Unseen: slowStart}, slowStart, false, false},
		{"full a moment ago", none, 10 * s, 15*s + 1, reserve.Verdict{Reported: noRoom}, noRoom, false, false},
		{"saturated a minute ago", none, 10 * s, 75 * s, reserve.Verdict{Reported: saturated, Unseen: slowStart}, saturated, false, false},
		{"full longer ago", none, 10 * s, 75*s + 1, reserve.Verdict{Reported: noRoom}, admitted, false, false},
		{"full longer ago and at the slow-start limit", none, 10 * s, 75*s + 1, reserve.Verdict{Reported: noRoom, Unseen: slowStart}, slowStart, false, false},
		{"full on a sample from before the start", none, -10 * s, 55 * s, reserve.Verdict{Reported: noRoom}, noRoom, false, false},
		{"old and rejected", reject, 10 * s, 16 * s, reserve.Verdict{}, stale, false, false},
		{"old and allowed", allow, 10 * s, 16 * s, reserve.Verdict{Reported: noRoom, Unseen: slowStart}, admitted, false, true},
		{"old by its own age", reserve.Freshness{MaxAge: s}, 10 * s, 12 * s, reserve.Verdict{}, admitted, false, false},
		{"old within the grace", hour, 10 * s, 16 * s, reserve.Verdict{}, admitted, false, false},
		{"awaited", none, never, 6 * s, reserve.Verdict{}, stale, false, false},
		{"awaited for as long as reports count", reserve.Freshness{MaxAge: 9 * s}, never, 10 * s, reserve.Verdict{}, stale, false, false},
		{"never reported", none, never, 7 * s, reserve.Verdict{Reported: noRoom}, admitted, false, false},
		{"never reported and at the slow-start limit", none, never, 7 * s, reserve.Verdict{Reported: noRoom, Unseen: slowStart}, slowStart, false, false},
		{"never reported and rejected", reject, never, 7 * s, reserve.Verdict{}, stale, false, false},
		{"not waited for", allow, never, 2 * s, reserve.Verdict{}, admitted, false, false},
		{"unknown policy", reserve.Freshness{Policy: 9}, 10 * s, 16 * s, reserve.Verdict{}, stale, false, false},
		{"reports that count for ever", reserve.Freshness{MaxAge: math.MaxInt64}, 10 * s, math.MaxInt64, reserve.Verdict{Reported: noRoom}, noRoom, true, true},
		{"waited for for ever", reserve.Freshness{Grace: math.MaxInt64}, never, 1 << 62, reserve.Verdict{}, stale, false, false},
	} {
		v := test.freshness.Awaited(2 * s)
		if test.reported != never {
			v = test.freshness.Reported(test.reported)
		}
		if got := v.Missing(); got != (test.reported == never) {
			t.Errorf("%s: missing %v", test.name, got)
		}
		if got := v.Fresh(test.now); got != test.fresh {
			t.Errorf("%s: fresh %v", test.name, got)
		}
		if got := test.freshness.Ranked(v, test.now); got != test.ranked {
			t.Errorf("%s: ranked %v", test.name, got)
		}
		if got := test.freshness.Admit(v, reserve.Moment{Now: test.now}, test.verdict); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestSilentNodeIsLimitedToSlowStart, whatever its last report, and whichever pods wait.
func TestSilentNodeIsLimitedToSlowStart(t *testing.T) {
	for _, test := range []struct {
		name   string
		signal reserve.Signal
		after  time.Duration // of silence
		want   int           // of 500
	}{
		{"saturated, seconds ago", reserve.Signal{Avail: 20, Pods: 10, Saturated: true}, 6 * s, 0},
		{"saturated, an hour ago", reserve.Signal{Avail: 20, Pods: 10, Saturated: true}, time.Hour, 7},
		{"room, seconds ago", reserve.Signal{Avail: 4, Pods: 10}, 6 * s, 4},
		{"room, an hour ago", reserve.Signal{Avail: 4, Pods: 10}, time.Hour, 7},
		{"an allowance", reserve.Signal{Avail: 400, Pods: 10, Allowance: 12}, 6 * s, 12},
		{"never reported", reserve.Signal{}, time.Hour, 2},
	} {
		f := reserve.Freshness{}
		v, at := f.Reported(0), reserve.Moment{Now: test.after}
		if test.signal == (reserve.Signal{}) {
			v = f.Awaited(0)
		}
		if got := f.Slots(v, at, test.signal, reserve.Flight{}, one, reserve.Rules{}); got != test.want {
			t.Errorf("%s: %d slots, want %d", test.name, got, test.want)
		}
		flight, took := reserve.Flight{}, 0
		for range 500 {
			if f.Admit(v, at, judge(test.signal, flight, one, reserve.Rules{})) == reserve.Admitted {
				flight.Demand++
				took++
			}
		}
		if took != test.want {
			t.Errorf("%s: took %d pods, want %d", test.name, took, test.want)
		}
	}
}

// TestClockThatStoodStill: a suspended scheduler receives no reports meanwhile.
func TestClockThatStoodStill(t *testing.T) {
	f := reserve.Freshness{Grace: 20 * s}
	m := reserve.Moment{}
	look := func(now time.Duration) reserve.Moment { m = f.Resume(m, now); return m }
	for i := range 10 {
		if got := look(time.Duration(i) * 5 * s); got != (reserve.Moment{Now: time.Duration(i) * 5 * s}) {
			t.Fatalf("look %d: %+v", i, got)
		}
	}
	reported := f.Reported(44 * s)
	if got, want := look(50*s+1), (reserve.Moment{Now: 50*s + 1, Awaited: 70*s + 1}); got != want {
		t.Errorf("after the gap: got %+v, want %+v", got, want)
	}
	if got := f.Admit(reported, m, reserve.Verdict{}); got != reserve.Stale {
		t.Errorf("node whose reports could not arrive: got %v, want it awaited", got)
	}
	if got := f.Admit(f.Reported(50*s), m, reserve.Verdict{}); got != reserve.Admitted {
		t.Errorf("node that has reported since: got %v", got)
	}
	if got := f.Admit(f.Awaited(0), m, reserve.Verdict{}); got != reserve.Stale {
		t.Errorf("node that never reported: got %v", got)
	}
	allow := reserve.Freshness{Policy: reserve.Allow}
	if got := allow.Admit(reported, m, reserve.Verdict{Unseen: reserve.SlowStart}); got != reserve.Admitted {
		t.Errorf("under Allow: got %v", got)
	}
	for m.Now < 70*s {
		look(m.Now + s)
	}
	look(70*s + 1)
	if got := f.Admit(reported, m, reserve.Verdict{Unseen: reserve.SlowStart}); got != reserve.SlowStart {
		t.Errorf("after the grace: got %v", got)
	}
	if before := m; look(3*s) != before {
		t.Errorf("clock that was set back: got %+v", m)
	}
}

// TestFreshnessSlotsAgreeWithAdmit calls Admit until it refuses, for any times and policy.
func TestFreshnessSlotsAgreeWithAdmit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	span := func() time.Duration { return time.Duration(rng.IntN(10)) * s }
	for range 20_000 {
		f := reserve.Freshness{MaxAge: span(), Grace: span(), Policy: reserve.StalePolicy(rng.IntN(3))}
		v := f.Awaited(span())
		if rng.IntN(2) == 0 {
			v = f.Reported(span())
		}
		signal := reserve.Signal{Avail: float64(rng.IntN(6)), Pods: rng.IntN(6), Saturated: rng.IntN(4) == 0}
		demand := float64(rng.IntN(4))
		flight := reserve.Flight{Demand: demand, Stalled: float64(rng.IntN(int(demand) + 1))}
		flight.Late = float64(rng.IntN(int(demand-flight.Stalled) + 1))
		at := reserve.Moment{Now: 2*span() + time.Duration(rng.IntN(2))*time.Minute}
		if rng.IntN(4) == 0 {
			at.Awaited = 2 * span()
		}
		const enough = 20
		want, next := 0, flight
		for want < enough && f.Admit(v, at, judge(signal, next, one, reserve.Rules{})) == reserve.Admitted {
			want++
			next.Demand++
		}
		if want == enough {
			want = reserve.MaxSlots // under Allow alone
		}
		if got := f.Slots(v, at, signal, flight, one, reserve.Rules{}); got != want {
			t.Fatalf("%+v, %+v at %+v, %+v with %+v: %d slots, want %d", f, v, at, signal, flight, got, want)
		}
	}
}

// TestOldSampleIsNotFresh: a report's age counts from its sample, even if that precedes the clock's
// start, and such a report is not missing.
func TestOldSampleIsNotFresh(t *testing.T) {
	f := reserve.Freshness{MaxAge: 5 * time.Second}
	for _, test := range []struct {
		arrived, age, until time.Duration
	}{
		{10 * time.Second, 0, 15 * time.Second},
		{10 * time.Second, 4 * time.Second, 11 * time.Second},
		{10 * time.Second, 6 * time.Second, 9 * time.Second},
		{time.Second, 3 * time.Second, 3 * time.Second},
		{time.Second, time.Hour, 0},
		{time.Second, 1<<63 - 1, 0},
	} {
		v := f.Reported(test.arrived - test.age)
		if v.Missing() || !v.Fresh(test.until) || v.Fresh(test.until+1) {
			t.Errorf("arrived at %v with age %v: got missing %v, fresh at %v %v and after %v", test.arrived, test.age, v.Missing(), test.until, v.Fresh(test.until), v.Fresh(test.until+1))
		}
	}
}
