package reserve_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

// judge and rank return the decisions of a new view.
func judge(s reserve.Signal, f reserve.Flight, d reserve.Demand, r reserve.Rules) reserve.Verdict {
	v := reserve.NewView(s, f, r)
	return v.Judge(d)
}

func rank(s reserve.Signal, f reserve.Flight, d reserve.Demand) float64 { return view(s, f).Rank(d) }

// view returns a node's view by the default rules.
func view(s reserve.Signal, f reserve.Flight) *reserve.View {
	v := reserve.NewView(s, f, reserve.Rules{})
	return &v
}

// scene returns a random node, its flight, a pod and the rules.
func scene(rng *rand.Rand) (reserve.Signal, reserve.Flight, reserve.Demand, reserve.Rules) {
	share := func() float64 { return math.Round(rng.Float64()*64) / 64 }
	rules := reserve.Rules{Spread: .5, Caution: .5 + rng.Float64(), CPUDemandPerCore: []float64{0, 1, 2}[rng.IntN(3)]}
	s := reserve.Signal{
		Avail: 8*rng.Float64() - 1, Pods: rng.IntN(4), Saturated: rng.IntN(20) == 0, Floored: rng.IntN(3) == 0, Cores: float64(rng.IntN(9)),
		Rooms: [2]reserve.Room{
			{Left: 1.2*share() - .1, StartupAllowance: share() / 8, Most: share(), Unit: 1. / 8, Cost: share() / 4},
			{Left: 1.2*share() - .1, StartupAllowance: share() / 8, Most: share(), Unit: 1. / (16 * gib), Cost: share() / 4, SD: share() / 16},
		},
	}
	if rng.IntN(10) == 0 {
		s.Rooms[rng.IntN(2)].Unit = 0
	}
	if rng.IntN(4) == 0 {
		s.StartupAllowance = 4 * rng.Float64()
		s.Allowance = s.StartupAllowance * float64(rng.IntN(2))
	}
	if rng.IntN(4) == 0 {
		s.TypicalCPU = rng.Float64()
	}
	if rng.IntN(10) == 0 {
		s.Rest = reserve.Room{Left: share(), Cost: share()}
	}
	varies := 1.
	if rng.IntN(4) == 0 {
		varies, s.Rooms[reserve.Memory].SD = 0, 0
	}
	demand := func() reserve.Demand {
		d := reserve.TypicalPod()
		for i, most := range [2]float64{4, 16 * gib} {
			confidence := rng.Float64()
			if rng.IntN(2) == 0 {
				confidence = math.Round(confidence*16) / 16
			}
			amount := share() * share() * most
			d.Typical[i] = 1 - confidence
			d.Amount[i], d.Var[i] = confidence*amount, varies*confidence*amount*amount*rng.Float64()*rng.Float64()
			if rng.IntN(20) == 0 { // an invalid value
				d.Typical[i] = 1 + 2*share()
			}
		}
		return d
	}
	var f reserve.Flight
	for range rng.IntN(5) {
		f = f.With(1, demand())
	}
	return s, f, demand(), rules
}

// TestDecisionIsTheInequality: for any node, flight and pod a view decides as the rules that writtenOut
// spells out.
func TestDecisionIsTheInequality(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 29))
	seen, edge := map[reserve.Reason]int{}, 0
	const rounds = 200_000
	for i := range rounds {
		s, f, d, rules := scene(rng)
		if i%3 == 0 {
			s, f, d, rules = randomDecision(rng)
		}
		if rng.IntN(4) == 0 {
			d = reserve.TypicalPod()
		}
		v := reserve.NewView(s, f, rules)
		want, slack := writtenOut(s, f, d, rules.WithDefaults())
		seen[want]++
		if math.Abs(slack) < 1e-9 { // rounding decides
			edge++
			continue
		}
		if got := v.Fits(d); got != want {
			t.Fatalf("%v, want %v: %+v with %+v for %+v by %+v", got, want, s, f, d, rules)
		}
	}
	for _, reason := range []reserve.Reason{reserve.Admitted, reserve.Saturated, reserve.NoRoom, reserve.NoCPU, reserve.NoMemory, reserve.SlowStart} {
		if seen[reason] < rounds/500 {
			t.Errorf("got %v %d times", reason, seen[reason])
		}
	}
	if edge > rounds/10 {
		t.Errorf("got %d of %d on the edge", edge, rounds)
	}
}

// writtenOut decides without a view; slack is the smallest margin of room, negative if it lacks.
func writtenOut(s reserve.Signal, f reserve.Flight, d reserve.Demand, r reserve.Rules) (reserve.Reason, float64) {
	known := d.Amount != [2]float64{} || d.Var != [2]float64{} || d.Typical[0] != d.Typical[1]
	pods := 1.
	if !known {
		pods = d.Typical[0]
	}
	least, taken, edge := max(pods, r.MinFreePods), f.Demand+f.Held, math.Inf(1)
	short := func(slack float64) bool {
		if math.Abs(slack) < math.Abs(edge) {
			edge = slack
		}
		return slack < 0
	}
	cpu := s.Rooms[reserve.CPU].Unit
	lacks := func(i reserve.Resource) bool {
		room, confidence := s.Rooms[i], max(1-d.Typical[i], 0)
		if room == (reserve.Room{}) {
			return false
		}
		left := room.Left + room.StartupAllowance
		if room.Unit == 0 {
			return short(left - room.Cost*(taken+least) - r.Caution*room.SD*math.Sqrt(taken+least))
		}
		typical, amount, variance := least, d.Amount[i], d.Var[i]
		if known {
			typical = d.Typical[i]
		}
		flying := taken - f.Known.Pods + f.Known.Typical[i]
		kept, sd := 0., room.SD
		if i == reserve.CPU {
			sd, variance = 0, 0
			switch {
			case s.Cores*cpu > .75:
			case r.CPUDemandPerCore > 0:
				kept = confidence * (1 - r.CPUDemandPerCore/2)
			default:
				kept = confidence * max(0, .5-max(1.35*cpu, .65*math.Sqrt(cpu/2)))
			}
		}
		before := sd*sd*flying + room.Unit*room.Unit*f.Known.Var[i]
		if i == reserve.CPU {
			before = 0
		}
		needs := room.Cost*typical + room.Unit*amount + r.Caution*math.Sqrt(before+sd*sd*typical+room.Unit*room.Unit*variance)
		if confidence > 0 && room.Most > kept {
			needs = min(needs, r.Caution*math.Sqrt(before)+.9*(room.Most-kept))
		}
		return short(left - kept - room.Cost*flying - room.Unit*f.Known.Amount[i] - needs)
	}
	cores := d.Amount[reserve.CPU] / max(1-d.Typical[reserve.CPU], 0)
	typicalCPU := s.TypicalCPU > 0 && (d.Typical[reserve.CPU] >= 1 || math.Abs(cores-s.TypicalCPU) <= s.TypicalCPU/4)
	switch {
	case s.Saturated:
		return reserve.Saturated, edge
	case !known && f.Known == (reserve.Known{}) || cpu == 0 && s.Rooms[reserve.Memory].Unit == 0:
		if short(s.Avail - taken - least) {
			return reserve.NoRoom, edge
		}
	case s.Floored && taken == 0 && d.Typical[0] > .5 && d.Typical[1] > .5:
	case typicalCPU:
		if short(s.Avail - taken - least) {
			return reserve.NoRoom, edge
		}
		if lacks(reserve.Memory) {
			return reserve.NoMemory, edge
		}
	default:
		if lacks(reserve.CPU) {
			return reserve.NoCPU, edge
		}
		if lacks(reserve.Memory) {
			return reserve.NoMemory, edge
		}
		rest := s.Rest
		if rest != (reserve.Room{}) && short(rest.Left+rest.StartupAllowance-rest.Cost*(taken+least)-r.Caution*rest.SD*math.Sqrt(taken+least)) {
			return reserve.NoRoom, edge
		}
	}
	if f.Demand-f.Stalled-f.Late >= max(r.Burst*max(s.Cores/2, 1)+r.Growth*float64(s.Pods), s.Allowance) {
		return reserve.SlowStart, edge
	}
	return reserve.Admitted, edge
}
