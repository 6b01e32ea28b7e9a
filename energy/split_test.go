package energy_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

// TestSplit by hand: in 10 s a node of 4 cores that takes 40 W idle took 700 J, 300 of them for
// load. It was busy for 20 core-seconds, pods for 15, of which two running pods took 9 and 3.
func TestSplit(t *testing.T) {
	account := energy.Account{
		Joules: 700, SD: 7, Idle: 400, IdleKnown: true, Busy: 20, Tree: 15, Capacity: 40, Residual: .03,
		Consumers: []energy.Consumer{{Key: 1, CPU: 9, Weight: 1}, {Key: 2, CPU: 3, Weight: 3}},
	}
	unknown := account
	unknown.Idle, unknown.IdleKnown = 0, false
	rented := account
	rented.Weights = 8
	for name, c := range map[string]struct {
		split   energy.Split
		account energy.Account
		first   [2]float64 // joules, idle
		other   [2]float64
		rest    energy.Rest
	}{
		// 300 J by 20 core-seconds are 15 J each.
		"nobody's idle": {energy.Split{}, account, [2]float64{135, 0}, [2]float64{45, 0}, energy.Rest{Idle: 400, System: 75, Ended: 45}},
		"even":          {energy.Split{Idle: energy.ByWeight}, account, [2]float64{235, 100}, [2]float64{345, 300}, energy.Rest{System: 75, Ended: 45}},
		"even, rented":  {energy.Split{Idle: energy.ByWeight}, rented, [2]float64{185, 50}, [2]float64{195, 150}, energy.Rest{Idle: 200, System: 75, Ended: 45}},
		"by usage":      {energy.Split{Idle: energy.ByUsage}, account, [2]float64{315, 180}, [2]float64{105, 60}, energy.Rest{Idle: 160, System: 75, Ended: 45}},
		// Half busy: 350 J by 20 core-seconds are 17.5 J each.
		"unknown idle": {energy.Split{}, unknown, [2]float64{157.5, 0}, [2]float64{52.5, 0}, energy.Rest{Idle: 350, System: 87.5, Ended: 52.5, RatioSplit: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, rest, err := c.split.AttributeTo(nil, &c.account)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range [][2]float64{c.first, c.other} {
				sd := math.Hypot(want[0]*.01, want[0]*.03)
				s := got[i]
				if s.Key != uint64(i+1) || math.Abs(s.Joules-want[0]) > 1e-9 || math.Abs(s.Idle-want[1]) > 1e-9 || math.Abs(s.SD-sd) > 1e-9 {
					t.Errorf("share %+v, want %v ± %v", s, want, sd)
				}
			}
			same := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
			if d := cmp.Diff(c.rest, rest, same); d != "" {
				t.Error("rest (-want +got):", d)
			}
		})
	}
}

// TestSplitNobody: without pods all energy is the node's.
func TestSplitNobody(t *testing.T) {
	_, rest, err := energy.Split{Idle: energy.ByUsage}.AttributeTo(nil, &energy.Account{Joules: 10, Idle: 4, IdleKnown: true})
	if d := cmp.Diff(energy.Rest{Idle: 4, System: 6}, rest); d != "" || err != nil {
		t.Error(d, err)
	}
	_, rest, _ = energy.Split{}.AttributeTo(nil, &energy.Account{Joules: 3, Idle: 4, IdleKnown: true})
	if d := cmp.Diff(energy.Rest{Idle: 3}, rest); d != "" {
		t.Error("less than idle:", d)
	}
}

func randomAccount(random *rand.Rand) energy.Account {
	positive := func(scale float64) float64 {
		if random.IntN(6) == 0 {
			return 0
		}
		return scale * math.Exp(6*random.NormFloat64())
	}
	a := energy.Account{
		Joules: min(positive(100), 1e14), SD: random.Float64(), Idle: min(positive(40), 1e14), IdleKnown: random.IntN(2) == 0,
		Busy: min(positive(4), 1e14), Tree: min(positive(4), 1e14), Capacity: 1 + min(positive(8), 1e14), Weights: 10 * random.Float64(),
		Residual: random.Float64(),
	}
	for i := range random.IntN(120) {
		a.Consumers = append(a.Consumers, energy.Consumer{Key: uint64(i), CPU: min(positive(1), 1e13), Weight: 4 * random.Float64()})
	}
	return a
}

// TestConservation: whatever the CPU times are, shares and rest add up to the interval's joules,
// and none is negative.
func TestConservation(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	var shares []energy.Share
	for range 20_000 {
		a := randomAccount(random)
		split := energy.Split{
			Idle: []energy.IdlePolicy{energy.Unattributed, energy.ByWeight, energy.ByUsage}[random.IntN(3)],
		}
		var rest energy.Rest
		var err error
		shares, rest, err = split.AttributeTo(shares, &a)
		if err != nil {
			t.Fatal(err)
		}
		sum := rest.Idle + rest.System + rest.Ended
		least := min(rest.Idle, rest.System, rest.Ended)
		for _, s := range shares {
			sum += s.Joules
			least = min(least, s.Joules, s.Idle, s.SD, s.Joules-s.Idle+1e-12*s.Joules)
		}
		if math.Abs(sum-a.Joules) > 1e-12*a.Joules || least < 0 || math.IsNaN(least) {
			t.Fatalf("%v: %v of %v J, least %v\n%+v", split, sum, a.Joules, least, a)
		}
	}
}

// TestTwinOfKepler: where the idle power is not known the attribution is Kepler's as in its sources:
// active energy by the node's utilisation, of which a pod gets its CPU time's share of the node's.
func TestTwinOfKepler(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 5_000 {
		cores, seconds := float64(1+random.IntN(64)), .5+random.Float64()
		var consumers []energy.Consumer
		var pods float64
		for i := range 1 + random.IntN(50) {
			c := energy.Consumer{Key: uint64(i), CPU: random.Float64() * cores * seconds / 60}
			consumers = append(consumers, c)
			pods += c.CPU
		}
		nodeCPU := pods + random.Float64()*(cores*seconds-pods)
		joules := 500 * random.Float64()
		got, rest, err := energy.Split{}.AttributeTo(nil, &energy.Account{
			Joules: joules, Busy: nodeCPU, Tree: pods, Capacity: cores * seconds, Consumers: consumers,
		})
		if err != nil {
			t.Fatal(err)
		}
		ratio := nodeCPU / (cores * seconds)
		active := joules * ratio
		if math.Abs(rest.Idle-(joules-active)) > 1e-9*joules {
			t.Fatal("idle", rest.Idle, joules-active)
		}
		for i, c := range consumers {
			if want := c.CPU / nodeCPU * active; math.Abs(got[i].Joules-want) > 1e-9*joules {
				t.Fatal("pod", got[i].Joules, want)
			}
		}
	}
}

// TestTwinOfScaphandre: each guest gets the host's energy by its CPU time's share of all CPUs'
// time, if the energy of idle CPUs is charged to none.
func TestTwinOfScaphandre(t *testing.T) {
	got, rest, err := energy.Split{}.AttributeTo(nil, &energy.Account{
		Joules: 200, Busy: 6, Tree: 6, Capacity: 10, Consumers: []energy.Consumer{{Key: 1, CPU: 4}, {Key: 2, CPU: 2}},
	})
	if err != nil || math.Abs(got[0].Joules-200*4/10.) > 1e-12 || math.Abs(got[1].Joules-200*2/10.) > 1e-12 || math.Abs(rest.Idle-80) > 1e-12 {
		t.Error(got, rest, err)
	}
}

// TestSplitMost: the largest amounts are valid.
func TestSplitMost(t *testing.T) {
	a := energy.Account{Joules: 1e15, SD: 1e15, Idle: 1e15, IdleKnown: true, Busy: 1e15, Tree: 1e15, Capacity: 1e15, Weights: 1e15, Residual: 1e15,
		Consumers: []energy.Consumer{{CPU: 1e15, Weight: 1e15}}}
	if got, _, err := (energy.Split{Idle: energy.ByWeight}).AttributeTo(nil, &a); err != nil || got[0].Joules != 1e15 {
		t.Error(got, err)
	}
}

// TestSplitRefuses: an invalid account is named, and dst is unchanged.
func TestSplitRefuses(t *testing.T) {
	good := energy.Account{Joules: 1, Capacity: 1, Consumers: []energy.Consumer{{Key: 1, CPU: 1, Weight: 1}}}
	for name, c := range map[string]struct {
		split  energy.Split
		change func(*energy.Account)
	}{
		"Idle":                 {energy.Split{Idle: "odd"}, func(*energy.Account) {}},
		"Joules":               {energy.Split{}, func(a *energy.Account) { a.Joules = -1 }},
		"SD":                   {energy.Split{}, func(a *energy.Account) { a.SD = math.NaN() }},
		"Account.Idle":         {energy.Split{}, func(a *energy.Account) { a.Idle = math.Inf(1) }},
		"Busy":                 {energy.Split{}, func(a *energy.Account) { a.Busy = -1 }},
		"Tree":                 {energy.Split{}, func(a *energy.Account) { a.Tree = 1e16 }},
		"Capacity":             {energy.Split{}, func(a *energy.Account) { a.Capacity = 0 }},
		"Weights":              {energy.Split{}, func(a *energy.Account) { a.Weights = -1 }},
		"Residual":             {energy.Split{}, func(a *energy.Account) { a.Residual = -1 }},
		"Consumers[0].CPU":     {energy.Split{}, func(a *energy.Account) { a.Consumers[0].CPU = -1 }},
		"Consumers[0].CPU ":    {energy.Split{}, func(a *energy.Account) { a.Consumers[0].CPU = 1.1e15 }},
		"Consumers[0].Weight ": {energy.Split{}, func(a *energy.Account) { a.Consumers[0].Weight = 1.1e15 }},
		"Consumers[0].Weight":  {energy.Split{}, func(a *energy.Account) { a.Consumers[0].Weight = math.NaN() }},
	} {
		a := good
		a.Consumers = append([]energy.Consumer(nil), good.Consumers...)
		c.change(&a)
		dst := []energy.Share{{Key: 9, Joules: 9}}
		got, _, err := c.split.AttributeTo(dst, &a)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != strings.TrimSpace(name) {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff([]energy.Share{{Key: 9, Joules: 9}}, got); d != "" {
			t.Errorf("%s changed dst: %s", name, d)
		}
	}
}

// TestSplitValidates: only known policies are accepted.
func TestSplitValidates(t *testing.T) {
	for _, s := range []energy.Split{{}, {Idle: energy.Unattributed}, {Idle: energy.ByWeight}, {Idle: energy.ByUsage}} {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	var bad *field.Error
	if err := (energy.Split{Idle: "unknown"}).Validate(); !errors.As(err, &bad) || bad.Field != "Idle" || !errors.Is(err, energy.ErrInvalid) {
		t.Error(err)
	}
}
