package reserve_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

func TestOverdue(t *testing.T) {
	for _, test := range []struct {
		rule   reserve.OverdueAdmission
		waited time.Duration
		want   bool
	}{
		{reserve.OverdueAdmission{}, 10*time.Minute - 1, false},
		{reserve.OverdueAdmission{}, 10 * time.Minute, true},
		{reserve.OverdueAdmission{MaxWait: time.Second}, time.Second - 1, false},
		{reserve.OverdueAdmission{MaxWait: time.Second}, time.Second, true},
		{reserve.OverdueAdmission{Off: true}, math.MaxInt64, false},
		{reserve.OverdueAdmission{MaxWait: time.Second, Off: true}, time.Hour, false},
	} {
		if got := test.rule.Overdue(test.waited); got != test.want {
			t.Errorf("%+v after %v: overdue = %v", test.rule, test.waited, got)
		}
	}
	if err := (reserve.OverdueAdmission{}).Validate(); err != nil {
		t.Errorf("the default MaxWait: got error %v", err)
	}
	if err := (reserve.OverdueAdmission{MaxWait: -1}).Validate(); !names(err, "MaxWait") || !errors.Is(err, reserve.ErrInvalid) {
		t.Errorf("negative MaxWait: got error %v", err)
	}
	if err := (reserve.OverdueAdmission{MaxWait: time.Second}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestPlaces(t *testing.T) {
	busy := reserve.Signal{Avail: -2, Pods: 8, Saturated: true, MemoryRoom: 20}
	for _, test := range []struct {
		name           string
		signal         func(*reserve.Signal)
		flight         reserve.Flight
		running, cores int
		rules          reserve.Rules
		want           int
	}{
		{name: "4 cores", cores: 4, want: 1},
		{name: "unknown cores", want: 1},
		{name: "one running", running: 1, cores: 4, want: 0},
		{name: "31 cores", cores: 31, want: 1},
		{name: "32 cores", cores: 32, want: 2},
		{name: "64 cores", cores: 64, want: 4},
		{name: "64 cores, one runs", running: 1, cores: 64, want: 3},
		{name: "64 cores, more running than allowed", running: 9, cores: 64, want: 0},
		{name: "not saturated, too little room", signal: func(s *reserve.Signal) { s.Saturated, s.Avail = false, .9 }, cores: 4, want: 1},
		{name: "room", signal: func(s *reserve.Signal) { s.Saturated, s.Avail = false, 1 }, cores: 4, want: 0},
		{name: "slow start alone refuses", signal: func(s *reserve.Signal) { s.Saturated, s.Avail, s.Pods = false, 9, 0 },
			flight: reserve.Flight{Demand: 2}, cores: 4, want: 0},
		{name: "full memory", signal: func(s *reserve.Signal) { s.MemoryRoom = .9 }, cores: 4, want: 0},
		{name: "memory for one", signal: func(s *reserve.Signal) { s.MemoryRoom = 1.5 }, cores: 64, want: 1},
		{name: "memory used by a pod in flight", signal: func(s *reserve.Signal) { s.MemoryRoom = 1.5 }, flight: reserve.Flight{Demand: 1}, cores: 64, want: 0},
		{name: "memory that is not a number", signal: func(s *reserve.Signal) { s.MemoryRoom = math.NaN() }, cores: 4, want: 0},
		{name: "MinFreePods applies to memory, too", signal: func(s *reserve.Signal) { s.MemoryRoom = 2 }, rules: reserve.Rules{MinFreePods: 3}, cores: 4, want: 0},
		{name: "at the slow-start limit", flight: reserve.Flight{Demand: 6}, cores: 64, want: 0},
		{name: "one below the slow-start limit", flight: reserve.Flight{Demand: 5}, cores: 64, want: 1},
		{name: "stalled pods do not count towards slow start", flight: reserve.Flight{Demand: 6, Stalled: 6}, cores: 4, want: 1},
	} {
		s := busy
		if test.signal != nil {
			test.signal(&s)
		}
		if got := (reserve.OverdueAdmission{}).Places(s, test.flight, one, test.running, test.cores, test.rules); got != test.want {
			t.Errorf("%s: %d places, want %d", test.name, got, test.want)
		}
		if got := (reserve.OverdueAdmission{Off: true}).Places(s, test.flight, one, test.running, test.cores, test.rules); got != 0 {
			t.Errorf("%s: got %d places although pods wait for ever", test.name, got)
		}
	}
}

// For any node state there are places only if Admit refuses for lack of room, and filling them never
// exceeds the limit or fills memory.
func TestPlacesAreBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		s := reserve.Signal{
			Avail: rng.Float64()*10 - 6, Allowance: rng.Float64() * 4, Pods: rng.IntN(20),
			Saturated: rng.IntN(2) == 0, MemoryRoom: rng.Float64()*12 - 2,
		}
		f := reserve.Flight{Demand: rng.Float64() * 8}
		demand, running, cores := .25+rng.Float64()*2, rng.IntN(6), 1+rng.IntN(128)
		places := (reserve.OverdueAdmission{}).Places(s, f, pods(demand), running, cores, reserve.Rules{})
		if places == 0 {
			continue
		}
		if reason := reserve.Fits(s, f, pods(demand), reserve.Rules{}); reason != reserve.Saturated && reason != reserve.NoRoom {
			t.Fatalf("%+v %+v: got %d places with verdict %v", s, f, places, reason)
		}
		if most := max(1, cores/16); running+places > most {
			t.Fatalf("%d cores, %d run: %d places", cores, running, places)
		}
		if after := f.Demand + float64(places)*demand; after > s.MemoryRoom+1e-9 {
			t.Fatalf("%+v %+v: got %d places of %g that fill the memory", s, f, places, demand)
		}
	}
}

// The mark lasts as long as the pod is claimed for the node, whatever its state there.
func TestMarkOverdue(t *testing.T) {
	now := time.Unix(1000, 0)
	var l reserve.Ledger
	a, b := l.Account("a"), l.Account("b")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, onA, onB int) {
		t.Helper()
		if a.Overdue() != onA || b.Overdue() != onB {
			t.Errorf("%s: %d and %d, want %d and %d", when, a.Overdue(), b.Overdue(), onA, onB)
		}
	}
	if l.MarkOverdue(1) {
		t.Error("a pod without a claim was marked")
	}
	for pod := range reserve.PodKey(3) {
		must(l.Reserve("a", pod, one, now))
	}
	if !l.MarkOverdue(1) || l.MarkOverdue(1) || !l.MarkOverdue(2) {
		t.Error("the change was not reported exactly once")
	}
	check("marked", 2, 0)
	if p, _ := l.Pod(1); !p.Overdue {
		t.Error("a marked pod is not distinguished from others")
	}
	if p, _ := l.Pod(0); p.Overdue {
		t.Error("another pod was marked")
	}
	l.MarkBound(1)
	_, err := l.Bound("a", 1, one, now)
	must(err)
	l.Confirm("a", 1, []reserve.PodKey{0, 1, 2}, now)
	check("reported", 2, 0)
	if got := a.Confirmed(); got != 3 {
		t.Errorf("got %d confirmed pods, want 3", got)
	}
	l.Progress(1, reserve.Ended)
	check("ended, not yet deleted", 2, 0)
	l.Delete(1, now)
	check("deleted", 1, 0)
	must(l.Reserve("b", 2, one, now))
	check("moved", 0, 0)
	l.MarkOverdue(2)
	check("marked there", 0, 1)
	l.Unreserve("b", 2)
	check("not bound", 0, 0)
}

// A marked pod that is stalled leaves its place to the next one, whether or not a report lists it, and
// takes a place again when it continues.
func TestStalledPodIsNotOverdue(t *testing.T) {
	now := time.Unix(1000, 0)
	var l reserve.Ledger
	a := l.Account("a")
	if _, err := l.Bound("a", 1, one, now); err != nil {
		t.Fatal(err)
	}
	l.MarkOverdue(1)
	for _, absorbed := range []bool{false, true} {
		if absorbed {
			l.Confirm("a", 1, []reserve.PodKey{1}, now)
		}
		for _, test := range []struct {
			progress reserve.Progress
			want     int
		}{{reserve.Stalled, 0}, {reserve.Initializing, 1}, {reserve.Stalled, 0}, {reserve.Starting, 1}} {
			l.Progress(1, test.progress)
			if got := a.Overdue(); got != test.want {
				t.Errorf("absorbed=%v, progress %v: %d, want %d", absorbed, test.progress, got, test.want)
			}
		}
	}
	if p, _ := l.Pod(1); !p.Overdue {
		t.Error("the mark is lost")
	}
}
