package reserve_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

const gib = 1 << 30

// fourCores returns an empty node of 4 cores and 16 GiB, on which a typical pod takes half a core and 2
// ± 1 GiB.
func fourCores() reserve.Signal {
	return reserve.Signal{
		Avail: 6, Pods: 100, Floored: true,
		Rooms: [2]reserve.Room{
			{Left: 1, Most: 1, Unit: 1. / 8, Cost: 1. / 16},
			{Left: 1, Most: 1, Unit: 1. / (16 * gib), Cost: 2. / 16, SD: 1. / 16},
		},
	}
}

// knownPod returns a pod of certain demand.
func knownPod(cores, bytes float64) reserve.Demand {
	return reserve.Demand{Amount: [2]float64{cores, bytes}}
}

// certain fills the whole CPU and ignores given demand.
var certain = reserve.Rules{CPUDemandPerCore: 2, Burst: 1000}

func TestFitsCountsResources(t *testing.T) {
	part := func(typical float64, d reserve.Demand) reserve.Demand {
		for i := range d.Typical {
			d.Typical[i] = typical
			d.Amount[i] *= 1 - typical
		}
		return d
	}
	for _, test := range []struct {
		name   string
		edit   func(s *reserve.Signal)
		flight []reserve.Demand
		demand reserve.Demand
		rules  reserve.Rules
		want   reserve.Reason
	}{
		{name: "nine tenths of the memory", demand: knownPod(.1, 14*gib), want: reserve.Admitted},
		{name: "the room beside one in flight", flight: []reserve.Demand{knownPod(.1, 8*gib)}, demand: knownPod(.1, 8*gib), want: reserve.Admitted},
		{name: "one byte more", flight: []reserve.Demand{knownPod(.1, 8*gib)}, demand: knownPod(.1, 8*gib+1), want: reserve.NoMemory},
		{name: "beside a typical pod and its spread", flight: []reserve.Demand{one}, demand: knownPod(.1, 13*gib), want: reserve.Admitted},
		{name: "beside two", flight: []reserve.Demand{one, one}, demand: knownPod(.1, 11*gib), want: reserve.NoMemory},
		{name: "a typical pod beside a large one", flight: []reserve.Demand{knownPod(.1, 13*gib)}, demand: one, want: reserve.Admitted},
		{name: "beside one too large for its spread", flight: []reserve.Demand{knownPod(.1, 13*gib+1)}, demand: one, want: reserve.NoMemory},
		{name: "half confident", flight: []reserve.Demand{knownPod(.1, 8*gib)}, demand: part(.5, knownPod(.1, 12*gib)), want: reserve.Admitted},
		{name: "half confident and larger", flight: []reserve.Demand{knownPod(.1, 8*gib)}, demand: part(.5, knownPod(.1, 13*gib)), want: reserve.NoMemory},
		{name: "a cpu filled to two a core", flight: []reserve.Demand{knownPod(7, gib)}, demand: knownPod(1, gib), want: reserve.Admitted},
		{name: "a CPU filled beyond two a core", flight: []reserve.Demand{knownPod(7, gib)}, demand: knownPod(1.01, gib), want: reserve.NoCPU},
		{name: "the CPU tolerates variance", flight: []reserve.Demand{knownPod(6, gib)}, demand: reserve.Demand{Amount: [2]float64{1, gib}, Var: [2]float64{9, 0}}, want: reserve.Admitted},
		{
			name: "to 5.35 of four cores by default", flight: []reserve.Demand{knownPod(5, gib)}, demand: knownPod(.36, gib),
			rules: reserve.Rules{Burst: 1000}, want: reserve.NoCPU,
		},
		{
			name: "up to it", flight: []reserve.Demand{knownPod(5, gib)}, demand: knownPod(.34, gib),
			rules: reserve.Rules{Burst: 1000}, want: reserve.Admitted,
		},
		{
			name: "to what is set", flight: []reserve.Demand{knownPod(6, gib)}, demand: knownPod(.75, gib),
			rules: reserve.Rules{Burst: 1000, CPUDemandPerCore: 1.7}, want: reserve.Admitted,
		},
		{
			name: "and no more", flight: []reserve.Demand{knownPod(6, gib)}, demand: knownPod(.85, gib),
			rules: reserve.Rules{Burst: 1000, CPUDemandPerCore: 1.7}, want: reserve.NoCPU,
		},
		{
			name:   "that is for known pods",
			flight: []reserve.Demand{knownPod(7, gib)}, demand: reserve.Demand{Typical: [2]float64{1, 0}, Amount: [2]float64{0, gib}},
			rules: reserve.Rules{Burst: 1000}, want: reserve.Admitted,
		},
		{
			name: "larger than the node, alone", demand: knownPod(.1, 99*gib),
			edit: func(s *reserve.Signal) { s.Rooms[reserve.Memory].Left = .9 }, want: reserve.Admitted,
		},
		{
			name: "larger than the node, not alone", demand: knownPod(.1, 99*gib),
			edit: func(s *reserve.Signal) { s.Rooms[reserve.Memory].Left = .89 }, want: reserve.NoMemory,
		},
		{
			name: "of a spread that fits no node", demand: reserve.Demand{Amount: [2]float64{.1, gib}, Var: [2]float64{0, 400 * gib * gib}},
			edit: func(s *reserve.Signal) { s.Rooms[reserve.Memory].Left = .9 }, want: reserve.Admitted,
		},
		{
			name: "the spread of two is less than twice that of one", demand: reserve.Demand{Amount: [2]float64{.1, 5 * gib}, Var: [2]float64{0, 9 * gib * gib}},
			flight: []reserve.Demand{{Amount: [2]float64{.1, 6 * gib}, Var: [2]float64{0, 16 * gib * gib}}}, want: reserve.Admitted,
		},
		{
			name: "but more than that of one", demand: reserve.Demand{Amount: [2]float64{.1, 5.1 * gib}, Var: [2]float64{0, 9 * gib * gib}},
			flight: []reserve.Demand{{Amount: [2]float64{.1, 6 * gib}, Var: [2]float64{0, 16 * gib * gib}}}, want: reserve.NoMemory,
		},
		{name: "ahead of confirmation", demand: knownPod(.1, 8*gib), edit: func(s *reserve.Signal) {
			s.Rooms[reserve.Memory].Left, s.Rooms[reserve.Memory].StartupAllowance = .25, .25
		}, want: reserve.Admitted},
		{name: "an empty node admits a pod with low confidence", demand: part(.75, knownPod(99, 99*gib)), want: reserve.Admitted},
		{name: "low confidence, beside another", demand: part(.75, knownPod(99, 99*gib)), flight: []reserve.Demand{one}, want: reserve.NoMemory},
		{name: "half confident, on a full node", demand: part(.5, knownPod(99, 8*gib)), edit: func(s *reserve.Signal) {
			s.Rooms[reserve.CPU].Left = .5
		}, want: reserve.NoCPU},
		{name: "a full node admits no pod", demand: knownPod(.1, 1), edit: func(s *reserve.Signal) { s.Saturated = true }, want: reserve.Saturated},
		{name: "slow start counts pods", demand: knownPod(.001, 1), flight: []reserve.Demand{knownPod(.001, 1), knownPod(.001, 1)},
			edit: func(s *reserve.Signal) { s.Pods = 0 }, rules: reserve.Rules{}, want: reserve.SlowStart},
		{name: "a node that counts in pods alone", demand: knownPod(.1, 99*gib), edit: func(s *reserve.Signal) {
			s.Rooms = [2]reserve.Room{}
		}, want: reserve.Admitted},
		{name: "counts in pods alone, and has none", demand: knownPod(.001, 1), flight: []reserve.Demand{knownPod(.001, 1)}, edit: func(s *reserve.Signal) {
			s.Rooms, s.Avail = [2]reserve.Room{}, 1
		}, want: reserve.NoRoom},
		{name: "in memory alone", demand: knownPod(.1, 1), flight: []reserve.Demand{knownPod(.1, 1)}, edit: func(s *reserve.Signal) {
			s.Rooms[reserve.Memory] = reserve.Room{Left: .2, Cost: .1, SD: .02}
		}, want: reserve.NoMemory},
		{name: "in memory alone, with room", demand: knownPod(.1, 1), flight: []reserve.Demand{knownPod(.1, 1)}, edit: func(s *reserve.Signal) {
			s.Rooms[reserve.Memory] = reserve.Room{Left: .23, Cost: .1, SD: .02}
		}, want: reserve.Admitted},
		{name: "a third channel", demand: knownPod(.1, 1), flight: []reserve.Demand{knownPod(.1, 1)}, edit: func(s *reserve.Signal) {
			s.Rest = reserve.Room{Left: .19, Cost: .1}
		}, want: reserve.NoRoom},
		{name: "a third channel with room", demand: knownPod(.1, 1), flight: []reserve.Demand{knownPod(.1, 1)}, edit: func(s *reserve.Signal) {
			s.Rest = reserve.Room{Left: .2, Cost: .1}
		}, want: reserve.Admitted},
		{name: "NaN amount", demand: knownPod(math.NaN(), 1), want: reserve.NoCPU},
		{name: "NaN room", demand: knownPod(.1, 1), edit: func(s *reserve.Signal) { s.Rooms[reserve.Memory].Left = math.NaN() }, want: reserve.NoMemory},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, rules := fourCores(), test.rules
			if test.edit != nil {
				test.edit(&s)
			}
			if rules == (reserve.Rules{}) && test.want != reserve.SlowStart {
				rules = certain
			}
			l := &reserve.Ledger{}
			a := l.Account("n")
			for i, d := range test.flight {
				must(t, l.Reserve("n", reserve.PodKey(i+1), d, epoch))
			}
			if got := reserve.Fits(s, a.Flight(), test.demand, rules); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// randomDecision draws a node, a flight, a pod and rules.
func randomDecision(rng *rand.Rand) (reserve.Signal, reserve.Flight, reserve.Demand, reserve.Rules) {
	s := reserve.Signal{
		Avail: rng.Float64()*20 - 2, Pods: rng.IntN(40), Allowance: rng.Float64() * 3, StartupAllowance: max(rng.Float64()*6-3, 0),
		Saturated: rng.IntN(20) == 0, Floored: rng.IntN(3) == 0,
	}
	for i, size := range [2]float64{1 + rng.Float64()*63, (1 + rng.Float64()*255) * gib} {
		s.Rooms[i] = reserve.Room{
			Left: rng.Float64()*1.4 - .3, StartupAllowance: rng.Float64() * .1, Unit: 1 / size, Cost: rng.Float64() / 4,
			SD: rng.Float64() / 8 * float64(rng.IntN(2)), Most: .2 + rng.Float64()*.8,
		}
		if rng.IntN(12) == 0 {
			s.Rooms[i].Unit = 0
		}
	}
	if rng.IntN(4) == 0 {
		s.Rest = reserve.Room{Left: rng.Float64(), Cost: rng.Float64() / 8}
	}
	draw := func() reserve.Demand {
		d := reserve.Demand{Typical: [2]float64{rng.Float64(), rng.Float64()}}
		for i, scale := range [2]float64{4, 16 * gib} {
			known := 1 - d.Typical[i]
			d.Amount[i] = known * rng.ExpFloat64() * scale
			d.Var[i] = known * rng.ExpFloat64() * scale * scale / 4
		}
		return d
	}
	f := reserve.Flight{}
	for n := rng.IntN(6); n > 0; n-- {
		d := one
		if rng.IntN(2) == 0 {
			d = draw()
			f.Known.Pods++
			for i := range d.Amount {
				f.Known.Typical[i] += d.Typical[i]
				f.Known.Amount[i] += d.Amount[i]
				f.Known.Var[i] += d.Var[i]
			}
		}
		f.Demand++
	}
	d := draw()
	return s, f, d, reserve.Rules{CPUDemandPerCore: 1 + rng.Float64(), Caution: .5 + rng.Float64(), MinFreePods: 1}
}

// TestFitsNeverRises: a pod with more demand, less certainty or more pods before it fits nowhere that
// it did not fit before.
func TestFitsNeverRises(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 9))
	admitted := 0
	for range 300_000 {
		s, f, d, r := randomDecision(rng)
		before := reserve.Fits(s, f, d, r) == reserve.Admitted
		if before {
			admitted++
			continue
		}
		i := rng.IntN(2)
		g, e := f, d
		switch rng.IntN(5) {
		case 0:
			e.Amount[i] *= 1 + rng.ExpFloat64()
		case 1:
			e.Var[i] *= 1 + rng.ExpFloat64()
		case 2:
			g.Demand++
		case 3:
			g.Demand++
			g.Known.Pods++
			g.Known.Amount[i] += rng.ExpFloat64() * 1e9
			g.Known.Var[i] += rng.ExpFloat64() * 1e18
		case 4:
			g.Known.Amount[i] += rng.ExpFloat64()
			g.Known.Var[i] += rng.ExpFloat64()
		}
		if reserve.Fits(s, g, e, r) == reserve.Admitted {
			t.Fatalf("%+v refuses %+v beside %+v, but admits %+v beside %+v", s, d, f, e, g)
		}
	}
	if admitted < 10_000 {
		t.Errorf("got only %d admitting decisions", admitted)
	}
}

// TestSlotsOfKnownPods calls Fits until it refuses.
func TestSlotsOfKnownPods(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	most := 0
	for range 20_000 {
		s, f, d, r := randomDecision(rng)
		s.Allowance = float64(rng.IntN(2)) * 100
		want, next := 0, f
		for reserve.Fits(s, next, d, r) == reserve.Admitted && want < 200 {
			want++
			next.Demand++
			next.Known.Pods++
			for i := range d.Amount {
				next.Known.Typical[i] += d.Typical[i]
				next.Known.Amount[i] += d.Amount[i]
				next.Known.Var[i] += d.Var[i]
			}
		}
		if got := reserve.Slots(s, f, d, r); got != want && want < 200 {
			t.Fatalf("got %d slots of %+v beside %+v on %+v, want %d as by Fits", got, d, f, s, want)
		}
		most = max(most, want)
	}
	if most < 10 {
		t.Errorf("got at most %d slots", most)
	}
}

// TestTypicalPodsNeedNoResources: with typical pods only, decisions are as if no node counted in
// resources.
func TestTypicalPodsNeedNoResources(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 14))
	for range 100_000 {
		s, f, _, r := randomDecision(rng)
		f.Known = reserve.Known{}
		bare := s
		bare.Rooms, bare.Rest, bare.Floored = [2]reserve.Room{}, reserve.Room{}, false
		d := pods([]float64{1, .5, 2}[rng.IntN(3)])
		if got, want := judge(s, f, d, r), judge(bare, f, d, r); got != want {
			t.Fatalf("%+v beside %+v: %v, want %v", s, f, got, want)
		}
		if got, want := rank(s, f, d), rank(bare, f, d); got != want {
			t.Fatalf("%+v beside %+v: got %v free, want %v", s, f, got, want)
		}
	}
}

// TestFreeForIsInTypicalPods: the room left by the last of many typical pods is the same in either
// unit, and the scarcest resource decides.
func TestFreeForIsInTypicalPods(t *testing.T) {
	s := fourCores()
	nothing := reserve.Demand{Typical: [2]float64{1, 0}, Amount: [2]float64{0, 0}}
	if got, want := rank(s, reserve.Flight{}, nothing), 9.; got != want {
		t.Errorf("got %v free for a pod without memory, want %v by memory", got, want)
	}
	if got, want := rank(s, reserve.Flight{Demand: 2}, knownPod(0, 8*gib)), 8-2-4+1.; got != want {
		t.Errorf("got %v free beside two for a pod of 8 GiB, want %v", got, want)
	}
	if got, want := rank(s, reserve.Flight{}, knownPod(7.5, gib)), (1-7.5/8)*16+1; got != want {
		t.Errorf("got %v free for a pod of 7.5 cores, want %v", got, want)
	}
	s.Rest = reserve.Room{Left: .3, Cost: .1}
	if got := rank(s, reserve.Flight{Demand: 1}, nothing); math.Abs(got-2) > 1e-12 {
		t.Errorf("got %v free by a third channel, want 2", got)
	}
}

// TestFreeForAhead: if pods are admitted ahead of confirmation, all are ranked by the measured room for
// typical ones, 6 − 1, with those in flight counted as such.
func TestFreeForAhead(t *testing.T) {
	s, f := fourCores(), reserve.Flight{Held: .5}
	f = f.With(1, knownPod(.01, gib/64)).With(1, knownPod(.01, gib/64))
	for _, d := range []reserve.Demand{pods(1), knownPod(.01, gib/64), knownPod(3, 8*gib)} {
		s.StartupAllowance = 0
		if got := rank(s, f, d); got == 2.5 {
			t.Errorf("got %v free for %+v with long-running pods", got, d)
		}
		s.StartupAllowance = 1
		if got := rank(s, f, d); got != 2.5 {
			t.Errorf("got %v free for %+v, want 2.5", got, d)
		}
	}
}

// TestRankAhead: with measured room for more than one pod a node is ranked by that room; pods admitted
// ahead of confirmation beyond it lower the rank gradually to zero, never raise it, and never below a
// node without any room.
func TestRankAhead(t *testing.T) {
	rank := func(avail, ahead, inFlight float64) float64 {
		return rank(reserve.Signal{Avail: avail, StartupAllowance: ahead}, reserve.Flight{Demand: inFlight}, pods(1))
	}
	for _, test := range []struct {
		name                         string
		avail, ahead, inFlight, want float64
	}{
		{"nothing granted ahead", 4, 0, 1.5, 2.5},
		{"as much room, and some granted ahead", 12, 8, 1.5, 2.5},
		{"a pod's room left", 12, 8, 3, 1},
		{"the last room used", 12, 8, 4, 8. / 9},
		{"the last of what is granted ahead", 12, 8, 11, 1. / 9},
		{"full", 12, 8, 12, 0},
		{"fuller", 12, 8, 21, -1},
		{"full, nothing granted ahead", 4, 0, 5, -1},
	} {
		if got := rank(test.avail, test.ahead, test.inFlight); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: got rank %v, want %v", test.name, got, test.want)
		}
	}
	rng := rand.New(rand.NewPCG(14, 1))
	for range 10_000 {
		avail, ahead := 40*rng.Float64()-10, 16*rng.Float64()
		flying, more := 20*rng.Float64(), 4*rng.Float64()
		got := rank(avail, ahead, flying)
		if free := avail - flying; (got > 0) != (free > 0) || got > math.Max(free, free/(1+ahead)) {
			t.Fatalf("got rank %v with %v free, %v ahead", got, free, ahead)
		}
		if fuller := rank(avail, ahead, flying+more); fuller > got {
			t.Fatalf("got rank %v and, with %v more in flight, %v: %v, %v ahead, %v in flight", got, more, fuller, avail, ahead, flying)
		}
		if idle := rank(avail-ahead, 0, flying); idle > 1 && math.Abs(idle-got) > 1e-9 {
			t.Fatalf("got rank %v, and without pods granted ahead %v", got, idle)
		}
	}
}

// TestTypicalCPUPods: a pod with about the node's typical CPU counts as a typical pod for its CPU,
// whatever CPU is left, and with its own demand for memory; other pods count with their own demand, and
// so do all on a node without a typical CPU.
func TestTypicalCPUPods(t *testing.T) {
	for _, cores := range []float64{4, 16, 64} {
		node := func(usual float64) reserve.Signal {
			s := fourCores()
			s.Cores, s.TypicalCPU, s.Avail = cores, usual, 2
			s.Rooms[reserve.Memory].Left = .5
			s.Rooms[reserve.CPU] = reserve.Room{Left: .1 / cores, Most: 1, Unit: .5 / cores, Cost: .5 / cores}
			return s
		}
		half := knownPod(1.2, gib)
		half.Typical[reserve.CPU], half.Amount[reserve.CPU] = .5, .6
		inMemory := knownPod(0, gib)
		inMemory.Typical[reserve.CPU] = 1
		for _, c := range []struct {
			name  string
			usual float64
			d     reserve.Demand
			want  reserve.Reason
		}{
			{"usual", 1, knownPod(1, gib), reserve.Admitted},
			{"a quarter more", 1, knownPod(1.25, gib), reserve.Admitted},
			{"a quarter less", 1, knownPod(.75, gib), reserve.Admitted},
			{"half confident of a fifth more", 1, half, reserve.Admitted},
			{"known in memory alone", 1, inMemory, reserve.Admitted},
			{"typical", 1, pods(1), reserve.Admitted},
			{"more", 1, knownPod(1.3, gib), reserve.NoCPU},
			{"less", 1, knownPod(.5, gib), reserve.NoCPU},
			{"hardly any", 1, knownPod(.01, gib), reserve.Admitted},
			{"of too much memory", 1, knownPod(1, 14*gib), reserve.NoMemory},
			{"without a typical CPU", 0, knownPod(1, gib), reserve.NoCPU},
		} {
			s, f := node(c.usual), reserve.Flight{}.With(.5, knownPod(.01, gib/64))
			if got := reserve.Fits(s, f, c.d, certain); got != c.want {
				t.Errorf("%v cores, %s: %v, want %v", cores, c.name, got, c.want)
			}
		}
		s, f := node(1), reserve.Flight{}.With(1, knownPod(1, gib))
		for _, d := range []reserve.Demand{knownPod(1, gib), pods(1)} {
			if got := rank(s, f, d); got != 1 {
				t.Errorf("%v cores: got %v free for %+v, want 1", cores, got, d)
			}
		}
		if got := rank(s, f, knownPod(2, gib)); got >= 1 {
			t.Errorf("%v cores: got %v free for a pod of two cores", cores, got)
		}
		if got := reserve.Slots(s, reserve.Flight{}, knownPod(1, gib), certain); got != 2 {
			t.Errorf("%v cores: %d slots, want 2", cores, got)
		}
		if got := reserve.Fits(s, f.With(1, knownPod(1, gib)), knownPod(1, gib), certain); got != reserve.NoRoom {
			t.Errorf("%v cores: third pod: got %v, want %v", cores, got, reserve.NoRoom)
		}
	}
}

// TestOverdueKnownPodsAreAdmitted: no pod waits for ever because of its own demand.
func TestOverdueKnownPodsAreAdmitted(t *testing.T) {
	s := fourCores()
	s.Floored, s.MemoryRoom = false, 3
	s.Rooms[reserve.Memory].Left = .5
	d := knownPod(.1, 99*gib)
	if got := reserve.Fits(s, reserve.Flight{}, d, reserve.Rules{}); got != reserve.NoMemory || !got.Full() {
		t.Fatalf("got verdict %v", got)
	}
	if got := (reserve.OverdueAdmission{}).Places(s, reserve.Flight{}, d, 0, 4, reserve.Rules{}); got != 1 {
		t.Errorf("got %d places for the overdue pod, want 1", got)
	}
	s.MemoryRoom = .5
	if got := (reserve.OverdueAdmission{}).Places(s, reserve.Flight{}, d, 0, 4, reserve.Rules{}); got != 0 {
		t.Errorf("got %d places with full memory", got)
	}
}

func BenchmarkFits(b *testing.B) {
	s, f, d := fourCores(), reserve.Flight{Demand: 2, Known: reserve.Known{Pods: 1, Amount: [2]float64{.1, gib}}}, knownPod(.1, gib)
	b.ReportAllocs()
	for range b.N {
		if reserve.Fits(s, f, d, certain) != reserve.Admitted {
			b.Fatal("refused")
		}
	}
}

// TestShares: a pod's demand in typical pods, the scarcest resource, and the rest.
func TestShares(t *testing.T) {
	s, flight := fourCores(), reserve.Flight{}.With(1, knownPod(2, 4*gib))
	for _, test := range []struct {
		d       reserve.Demand
		want    [2]float64
		binding reserve.Resource
	}{
		{knownPod(2, 2*gib), [2]float64{4, 1}, reserve.Memory}, // 4 and 5 typical pods remain beside it
		{knownPod(.5, 8*gib), [2]float64{1, 4}, reserve.Memory},
		{knownPod(5, gib), [2]float64{10, .5}, reserve.CPU},
	} {
		got, binding, ok := view(s, flight).Shares(test.d)
		if !ok || got != test.want || binding != test.binding {
			t.Errorf("%+v: %v, %v, %v; want %v, %v", test.d, got, binding, ok, test.want, test.binding)
		}
	}
	if cores, bytes := view(s, flight).Spare(reserve.CPU), view(s, flight).Spare(reserve.Memory); cores != 6 || bytes != 12*gib {
		t.Errorf("got %v cores and %v bytes left, want 6 and 12 GiB", cores, bytes)
	}
	s.Rooms[reserve.CPU].Unit = 0
	if got, binding, ok := view(s, flight).Shares(knownPod(5, 2*gib)); !ok || got != [2]float64{0, 1} || binding != reserve.Memory {
		t.Errorf("without cores: got %v, %v, %v", got, binding, ok)
	}
	s.Rooms[reserve.Memory].Unit = 0
	if _, _, ok := view(s, flight).Shares(one); ok || view(s, flight).Spare(reserve.Memory) != 0 {
		t.Error("got shares of a node that counts in pods alone")
	}
}

// TestCPUDemandPerCoreFollowsTheCores: one-core pods keep all cores busy, and the waiting part of them
// shrinks with more cores. Without measured waiting there is none.
func TestCPUDemandPerCoreFollowsTheCores(t *testing.T) {
	for _, test := range []struct {
		cores, full float64
		rules       reserve.Rules
		want        int
	}{
		{cores: 1, full: 2, want: 2}, {cores: 2, full: 2, want: 3}, {cores: 4, full: 2, want: 5},
		{cores: 16, full: 2, want: 18}, {cores: 64, full: 2, want: 69}, {cores: 256, full: 2, want: 266},
		{cores: 64, full: 2, rules: reserve.Rules{CPUDemandPerCore: 1.5}, want: 96},
		{cores: 4, full: 1, want: 4}, {cores: 64, full: 1, rules: reserve.Rules{CPUDemandPerCore: 1.5}, want: 64},
	} {
		s := reserve.Signal{Cores: test.cores, Rooms: [2]reserve.Room{
			{Left: 1, Most: 1, Unit: 1 / (test.full * test.cores), Cost: 1. / 16},
			{Left: 1, Most: 1, Unit: 1. / (1024 * gib), Cost: 1. / 1024},
		}}
		test.rules.Burst = 1000
		if got := reserve.Slots(s, reserve.Flight{}, knownPod(1, gib), test.rules); got != test.want {
			t.Errorf("%g cores, full at %g, %+v: got %d one-core pods, want %d", test.cores, test.full, test.rules, got, test.want)
		}
	}
}

// TestSpareStaysWithinTheNode: the rest is what the node has without its pods in flight, whatever its
// CPU tolerates in waiting tasks.
func TestSpareStaysWithinTheNode(t *testing.T) {
	for _, cores := range []float64{4, 16, 64} {
		for _, wait := range []float64{0, 1} { // tasks waiting for a core, as a part of the room
			unit := 1 / ((1 + wait) * cores)
			for _, test := range []struct{ busy, ahead, flight, want float64 }{
				{0, 0, 0, cores},
				{0, .2, 0, cores},
				{cores / 4, .2, 0, cores * 3 / 4},
				{cores / 4, 0, 2, cores*3/4 - 2},
				{cores, .1, 0, 0},
			} {
				s := reserve.Signal{Cores: cores}
				s.Rooms[reserve.CPU] = reserve.Room{Left: 1 - test.busy*unit, StartupAllowance: test.ahead, Unit: unit, Cost: unit, Most: 1}
				got := view(s, reserve.Flight{}.With(1, knownPod(test.flight, gib))).Spare(reserve.CPU)
				if math.Abs(got-test.want) > 1e-9 {
					t.Errorf("%g of %g cores busy, %g in flight: got %g left, want %g", test.busy, cores, test.flight, got, test.want)
				}
			}
		}
	}
}

// TestCautionCountsEverywhere: p pods of .1 ± .1 of the remaining room each need .1p + g·.1√p of it, in
// a resource that counts in typical pods alone as elsewhere.
func TestCautionCountsEverywhere(t *testing.T) {
	tight := reserve.Room{Left: 1, Most: 1, Cost: .1, SD: .1}
	nodes := map[string]func(*reserve.Signal){
		"a channel beside the resources":      func(s *reserve.Signal) { s.Rest, s.Rooms[reserve.Memory].Left = tight, 1000 },
		"memory that is not counted in bytes": func(s *reserve.Signal) { s.Rooms[reserve.Memory] = tight },
		"memory": func(s *reserve.Signal) {
			s.Rooms[reserve.Memory] = tight
			s.Rooms[reserve.Memory].Unit = 1. / (16 * gib)
		},
	}
	// p + g√p ≤ 10
	for caution, want := range map[float64]int{.5: 8, 1: 7, 2: 5, 4: 3} {
		for name, edit := range nodes {
			s := fourCores()
			s.Rooms[reserve.CPU].Left, s.Floored = 1000, false
			edit(&s)
			rules := certain
			rules.Caution = caution
			typical := reserve.Flight{Known: reserve.Known{Pods: 1e-6}} // counted, but negligible
			if got := reserve.Slots(s, typical, reserve.TypicalPod(), rules); got != want {
				t.Errorf("%s, caution %v: got %d pods, want %d", name, caution, got, want)
			}
		}
	}
}
