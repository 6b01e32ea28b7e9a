package reserve_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spazio-scheduler/spazio/reserve"
)

// scene is a node, its flight, a pod and the rules, at random.
func scene(rng *rand.Rand) (reserve.Signal, reserve.Flight, reserve.Demand, reserve.Rules) {
	share := func() float64 { return math.Round(rng.Float64()*64) / 64 }
	rules := reserve.Rules{Spread: .5, Caution: .5 + rng.Float64(), CPUFill: []float64{0, 1, 2}[rng.IntN(3)]}
	s := reserve.Signal{
		Avail: 8*rng.Float64() - 1, Pods: rng.IntN(4), Saturated: rng.IntN(20) == 0, Floored: rng.IntN(3) == 0, Cores: float64(rng.IntN(9)),
		Rooms: [2]reserve.Room{
			{Left: 1.2*share() - .1, Ahead: share() / 8, Most: share(), Unit: 1. / 8, Cost: share() / 4},
			{Left: 1.2*share() - .1, Ahead: share() / 8, Most: share(), Unit: 1. / (16 * gib), Cost: share() / 4, SD: share() / 16},
		},
	}
	if rng.IntN(10) == 0 {
		s.Rooms[rng.IntN(2)].Unit = 0
	}
	if rng.IntN(4) == 0 {
		s.Ahead = 4 * rng.Float64()
		s.Allowance = s.Ahead * float64(rng.IntN(2))
	}
	if rng.IntN(4) == 0 {
		s.Usual = rng.Float64()
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
			if rng.IntN(20) == 0 { // which makes no sense
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

// briefly says whether there is anything to say of a node in brief.
func briefly(s reserve.Signal) bool {
	for _, room := range s.Rooms {
		if room.Unit == 0 || room.Cost == 0 {
			return false
		}
	}
	return s.Rest == (reserve.Room{})
}

// TestBriefEqualsFits: what a brief is sure of is what Fits and RankFor say, and it is hardly
// ever unsure.
func TestBriefEqualsFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 9))
	const rounds = 200_000
	unsure, ample, scarce, seen := 0, 0, 0, map[reserve.Reason]int{}
	for range rounds {
		s, f, d, rules := scene(rng)
		b := reserve.MakeBrief(s, f, rules)
		q, ok := reserve.Ask(d, rules)
		if !ok {
			continue
		}
		want := reserve.Fits(s, f, d, rules)
		reason, sure := b.Fits(&q)
		if sure && reason != want {
			t.Fatalf("%v, want %v: %+v with %+v for %+v", reason, want, s, f, d)
		}
		if !sure && briefly(s) {
			unsure++
		}
		if b.Flags&reserve.BriefAsked == 0 && b.Scarce.Refuses(b.Rank, &q) {
			if scarce++; want != reserve.NoCPU {
				t.Fatalf("scarce, want %v: %+v with %+v for %+v", want, s, f, d)
			}
		}
		if b.Ample.Holds(&q) {
			if ample++; want != reserve.Admitted {
				t.Fatalf("ample, want %v: %+v with %+v for %+v", want, s, f, d)
			}
		}
		seen[want]++
		free, sure := b.RankFor(&q)
		if wanted := reserve.RankFor(s, f, d); sure && math.Abs(free-wanted) > 1e-4*(1+math.Abs(wanted)) && free != wanted {
			t.Fatalf("free %v, want %v", free, wanted)
		}
	}
	if unsure > rounds/100 {
		t.Errorf("unsure of %d in %d", unsure, rounds)
	}
	if ample < seen[reserve.Admitted]/4 || scarce < seen[reserve.NoCPU]/4 {
		t.Errorf("ample for %d of %d that were admitted, scarce for %d of %d", ample, seen[reserve.Admitted], scarce, seen[reserve.NoCPU])
	}
	for _, reason := range []reserve.Reason{reserve.Admitted, reserve.Saturated, reserve.NoRoom, reserve.NoCPU, reserve.NoMemory, reserve.SlowStart} {
		if seen[reason] < rounds/500 {
			t.Errorf("%v came up %d times", reason, seen[reason])
		}
	}
}

// TestBriefEqualsFitsBesideTheEdge: nor is a brief sure of anything else where a resource, or room
// for typical pods where the pod is as usual, is just enough or just too scarce, and where it is just
// as usual; and a little off the edge it is hardly ever unsure.
func TestBriefEqualsFitsBesideTheEdge(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	const off, rounds, plenty = 1e-4, 30_000, 100.
	asked, unsure := 0, 0
	for round := range rounds {
		s, f, d, rules := scene(rng)
		rules.Burst = 1000
		q, known := reserve.Ask(d, rules)
		if s.Rest = (reserve.Room{}); !known || !briefly(s) {
			continue
		}
		s.Saturated, s.Floored = false, false
		cores := d.Amount[reserve.CPU] / (1 - d.Typical[reserve.CPU])
		cpu, memory := &s.Rooms[reserve.CPU].Left, &s.Rooms[reserve.Memory].Left
		edge, refused, admitted := cpu, -plenty, plenty
		switch *cpu, *memory, s.Avail, s.Usual = plenty, plenty, plenty, 0; round % 4 {
		case 1:
			edge, s.Usual = memory, []float64{0, cores}[rng.IntN(2)]
		case 2:
			edge, s.Usual = &s.Avail, cores
		case 3:
			*cpu, edge, admitted, refused = -plenty, &s.Usual, cores, []float64{.1, 4}[rng.IntN(2)]*cores
		}
		if !(cores > 0) && round%4 > 1 {
			continue
		}
		for range 60 {
			if *edge = (refused + admitted) / 2; reserve.Fits(s, f, d, rules) == reserve.Admitted {
				admitted = *edge
			} else {
				refused = *edge
			}
		}
		for _, by := range []float64{0, 1e-12, 1e-9, 1e-8, 3e-8, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5, off} {
			if admitted < refused {
				by = -by
			}
			for _, *edge = range []float64{refused - by, admitted + by} {
				b := reserve.MakeBrief(s, f, rules)
				want := reserve.Fits(s, f, d, rules)
				reason, sure := b.Fits(&q)
				if sure && reason != want {
					t.Fatalf("%v, want %v: %+v with %+v for %+v", reason, want, s, f, d)
				}
				scarce := b.Flags&reserve.BriefAsked == 0 && b.Scarce.Refuses(b.Rank, &q)
				if b.Ample.Holds(&q) && want != reserve.Admitted || scarce && want != reserve.NoCPU {
					t.Fatalf("ample or scarce, want %v: %+v with %+v for %+v", want, s, f, d)
				}
				if math.Abs(by) == off {
					asked++
					if !sure {
						unsure++
					}
				}
			}
		}
	}
	if asked < rounds || unsure > asked/50 {
		t.Errorf("unsure of %d in %d", unsure, asked)
	}
}

// TestBriefLeavesTheEdgeToFits: a pod that just fits, or just does not, is none that a
// brief is sure of.
func TestBriefLeavesTheEdgeToFits(t *testing.T) {
	s := fourCores()
	for _, room := range []float64{.25, math.Nextafter(.25, 0), math.Nextafter(.25, 1)} {
		s.Rooms[reserve.Memory].Left = room
		d := knownPod(.1, 4*gib)
		b := reserve.MakeBrief(s, reserve.Flight{}, reserve.Rules{})
		q, _ := reserve.Ask(d, reserve.Rules{})
		if reason, sure := b.Fits(&q); sure {
			t.Errorf("sure of %v with a room of %v", reason, room)
		}
	}
	if _, ok := reserve.Ask(reserve.TypicalPod(), reserve.Rules{}); ok {
		t.Error("a typical pod is none of a known workload")
	}
}

// BenchmarkBrief asks 5,000 nodes about a pod that none of them has seen, as a cycle does: the
// full ones lie scattered.
func BenchmarkBrief(b *testing.B) {
	const nodes, kinds = 5000, 64
	questions := make([]reserve.Question, kinds)
	for i := range questions {
		questions[i], _ = reserve.Ask(knownPod(float64(1+i%8)/64, float64(1+i%7)*gib/16), reserve.Rules{})
	}
	for _, full := range []int{0, 2000, 5000} {
		briefs := make([]reserve.Brief, nodes)
		for i := range briefs {
			s, f := fourCores(), reserve.Flight{}.With(1, knownPod(float64(1+i%8)/64, float64(1+i%7)*gib/16))
			s.Rooms[reserve.CPU].Left, s.Rooms[reserve.Memory].Left = float64(9+i%11)/20, float64(4+i%13)/16
			if i*7919%5000 < full {
				s.Rooms[reserve.CPU].Left, s.Rooms[reserve.Memory].Left = .2, .001
			}
			briefs[i] = reserve.MakeBrief(s, f, reserve.Rules{})
		}
		b.Run(fmt.Sprint("full=", full), func(b *testing.B) {
			b.ReportAllocs()
			admitted := 0
			for i := 0; b.Loop(); i++ {
				q := &questions[i%kinds]
				for j := range briefs {
					brief := &briefs[j]
					if !brief.Ample.Holds(q) {
						if brief.Scarce.Refuses(brief.Rank, q) {
							continue
						}
						if reason, sure := brief.Fits(q); !sure || reason != reserve.Admitted {
							continue
						}
					}
					admitted++
					brief.RankFor(q)
				}
			}
			if got := admitted / b.N; got != nodes-full {
				b.Errorf("%d admitted", got)
			}
		})
	}
}
