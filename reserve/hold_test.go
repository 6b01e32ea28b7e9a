package reserve_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

// TestHold: held room reduces the free room and affects nothing else, whatever happens to its pod.
func TestHold(t *testing.T) {
	l := &reserve.Ledger{}
	a, b := l.Account("a"), l.Account("b")
	hold := func(node string, pod reserve.PodKey, pods float64, want bool) {
		t.Helper()
		if changed, err := l.Hold(node, pod, pods); changed != want || err != nil {
			t.Errorf("hold %v for pod %d on %s: got %v, %v, want %v", pods, pod, node, changed, err, want)
		}
	}
	expect := func(heldA, heldB, flyingA float64) {
		t.Helper()
		if a.Flight().Held != heldA || b.Flight().Held != heldB || a.Flight().Demand != flyingA {
			t.Errorf("got held %v and %v, in flight %v; want %v, %v and %v", a.Flight().Held, b.Flight().Held, a.Flight().Demand, heldA, heldB, flyingA)
		}
	}
	hold("a", 1, 1.5, true)
	hold("a", 1, 1.5, false)
	hold("a", 2, .1, true)
	expect(1.6, 0, 0)
	hold("a", 1, 2, true)
	expect(2.1, 0, 0)
	hold("b", 1, 2, true)
	expect(.1, 2, 0)
	// A running pod holds no room, and a pod that holds room is not claimed.
	must(t, l.Reserve("a", 2, one, epoch))
	expect(0, 2, 1)
	hold("a", 2, 3, true)
	expect(3, 2, 0)
	if _, known := l.Pod(2); known {
		t.Error("a pod with held room is claimed as well")
	}
	_, err := l.Bound("a", 2, one, epoch)
	must(t, err)
	expect(0, 2, 1)
	// A deletion may be repeated.
	for _, want := range []string{"b", ""} {
		if node, inFlight := l.Delete(1, epoch); node != want || inFlight {
			t.Errorf("got deletion from %q, in flight %v, want %q", node, inFlight, want)
		}
	}
	expect(0, 0, 1)
}

// TestHeldRoomReducesFreeRoom, but does not count towards slow start.
func TestHeldRoomReducesFreeRoom(t *testing.T) {
	s, rules := reserve.Signal{Avail: 6, MemoryRoom: 4}, reserve.Rules{}
	for _, test := range []struct {
		flight reserve.Flight
		want   reserve.Verdict
		free   float64
	}{
		{reserve.Flight{Held: 5}, reserve.Verdict{}, 1},
		{reserve.Flight{Held: 5.5}, reserve.Verdict{Reported: reserve.NoRoom}, .5},
		{reserve.Flight{Held: 9}, reserve.Verdict{Reported: reserve.NoRoom}, -3},
		{reserve.Flight{Held: 4, Demand: 1}, reserve.Verdict{}, 1},
		{reserve.Flight{Held: 4, Demand: 1.5}, reserve.Verdict{Reported: reserve.NoRoom}, .5},
		{reserve.Flight{Held: 3, Demand: 2}, reserve.Verdict{Reported: reserve.SlowStart, Unseen: reserve.SlowStart}, 1},
	} {
		if got := judge(s, test.flight, one, rules); got != test.want {
			t.Errorf("%+v: %+v, want %+v", test.flight, got, test.want)
		}
		if got := reserve.Free(s.Avail, test.flight); got != test.free || rank(s, test.flight, one) != test.free {
			t.Errorf("%+v: %v free, want %v", test.flight, got, test.free)
		}
	}
	// A floored node offers room for one pod, which is held.
	floored := reserve.Signal{Avail: 1, Floored: true, Rooms: [2]reserve.Room{{Unit: .1, Cost: 1}, {Unit: .1, Cost: 1}}}
	doubtful := reserve.Demand{Typical: [2]float64{.75, .75}, Amount: [2]float64{1, 1}}
	for held, want := range map[float64]reserve.Reason{0: reserve.Admitted, 1: reserve.NoCPU} {
		if got := reserve.Fits(floored, reserve.Flight{Held: held}, doubtful, rules); got != want {
			t.Errorf("floored node that holds %v: got %v, want %v", held, got, want)
		}
	}
	// Overdue pods may not use held memory.
	for held, want := range map[float64]int{0: 1, 3: 1, 3.5: 0} {
		full := reserve.Signal{MemoryRoom: 4, Saturated: true}
		if got := (reserve.OverdueAdmission{}).Places(full, reserve.Flight{Held: held}, one, 0, 4, rules); got != want {
			t.Errorf("%v held: %d places, want %d", held, got, want)
		}
	}
}

// TestHeldRoomCountsAsTypicalPods: except for slow start, held room counts as that many typical pods in
// flight, for any pod on any node.
func TestHeldRoomCountsAsTypicalPods(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 5))
	admitted := 0
	for range 100_000 {
		s, f, d, r := randomDecision(rng)
		r.Burst = 1e9 // no slow-start limit
		s.Floored, s.MemoryRoom = rng.IntN(4) == 0, 8*rng.Float64()
		held := float64(rng.IntN(16)) / 4
		holds, flies := f, f
		holds.Held = held
		flies.Demand += held
		reason := reserve.Fits(s, holds, d, r)
		if want := reserve.Fits(s, flies, d, r); reason != want {
			t.Fatalf("%+v for %+v: got %v beside held room, want %v as beside pods: %+v", s, d, reason, want, holds)
		}
		if reason == reserve.Admitted {
			admitted++
		}
		got, want := rank(s, holds, d), rank(s, flies, d)
		if got != want && math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Fatalf("got %v free beside held room, want %v as beside pods: %+v", got, want, holds)
		}
		for i := range reserve.Resource(reserve.Resources) {
			if view(s, holds).Spare(i) != view(s, flies).Spare(i) {
				t.Fatalf("the spare %v differs: %+v", i, holds)
			}
		}
		if (reserve.OverdueAdmission{}).Places(s, holds, d, 0, 64, r) != (reserve.OverdueAdmission{}).Places(s, flies, d, 0, 64, r) {
			t.Fatalf("the places for overdue pods differ: %+v", holds)
		}
	}
	if admitted < 5_000 {
		t.Errorf("only %d of the decisions admitted", admitted)
	}
}

// TestFreeForOfAnUncountedResource: such a resource counts in typical pods, beside a counted one.
func TestFreeForOfAnUncountedResource(t *testing.T) {
	s := reserve.Signal{Rooms: [2]reserve.Room{{Left: 1, Cost: .001, Unit: .001}, {Left: .5, StartupAllowance: .25, Cost: .125}}}
	known := reserve.Demand{Typical: [2]float64{0, 1}, Amount: [2]float64{1, 0}}
	for _, f := range []reserve.Flight{{}, {Demand: 1}, {Held: 2.5}, {Demand: 3, Held: 4}} {
		if got, want := rank(s, f, known), 6-f.Demand-f.Held; got != want {
			t.Errorf("%+v: %v free, want %v", f, got, want)
		}
	}
}

func TestHoldRefusesWithoutChange(t *testing.T) {
	l := &reserve.Ledger{}
	must(t, l.Reserve("a", 1, one, epoch))
	_, err := l.Hold("a", 2, 1)
	must(t, err)
	before := l.Census()
	for _, pods := range []float64{0, -1, math.NaN(), math.Inf(1), math.Nextafter(1e6, 2e6)} {
		for pod := reserve.PodKey(1); pod <= 3; pod++ {
			changed, err := l.Hold("b", pod, pods)
			if changed || !names(err, "pods") || !errors.Is(err, reserve.ErrInvalid) {
				t.Errorf("holding %v: %v, %v", pods, changed, err)
			}
		}
	}
	if got := l.Census(); got != before || l.Account("a").Flight().Held != 1 {
		t.Errorf("got %+v, want %+v as before", got, before)
	}
}

// TestHeldRoomOutlivesItsNode, and its account only that long.
func TestHeldRoomOutlivesItsNode(t *testing.T) {
	l := &reserve.Ledger{}
	_, err := l.Hold("a", 1, 2)
	must(t, err)
	a := l.Account("a") // the node's event is late
	if a.Flight().Held != 2 {
		t.Errorf("when the node appears: got held %v, want 2", a.Flight().Held)
	}
	l.Release(a)
	if again := l.Account("a"); again != a || again.Flight().Held != 2 {
		t.Errorf("after the node was recreated: got held %v, want 2", again.Flight().Held)
	}
	l.Release(a)
	// A pod that turns out to be ordinary leaves no held account behind.
	_, err = l.Bound("a", 1, one, epoch)
	must(t, err)
	if got := l.InFlight("a"); got != 1 {
		t.Errorf("got %v in flight, want 1", got)
	}
	_, err = l.Hold("a", 1, 2)
	must(t, err)
	if l.Delete(1, epoch); l.Account("a") == a {
		t.Error("the account of a deleted node without pods is kept")
	}
}
