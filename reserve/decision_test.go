package reserve_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/reserve"
)

func TestKeyOf(t *testing.T) {
	hashed := func(s string) reserve.PodKey {
		h := fnv.New64a()
		h.Write([]byte(s))
		return reserve.PodKey(h.Sum64())
	}
	for _, test := range []struct {
		uid  string
		want reserve.PodKey
	}{
		{"01234567-89ab-cdef-0123-456789abcdef", 0x0123456789abcdef},
		{"01234567_89ab_cdef_0123_456789abcdef", 0x0123456789abcdef},
		{"01234567-89AB-CDEF-ffff-ffffffffffff", 0x0123456789abcdef},
		{"0123456789abcdef", 0x0123456789abcdef},
		{"0123456789abcdef not hex", 0x0123456789abcdef},
		{"d41d8cd98f00b204e9800998ecf8427e", 0xd41d8cd98f00b204},
		{"0123456789abcde", hashed("0123456789abcde")},
		{"static-pod-7", hashed("static-pod-7")},
		{"0123-456g-0000-0000-0000", hashed("0123-456g-0000-0000-0000")},
		{"", hashed("")},
	} {
		if got := reserve.KeyOf(test.uid); got != test.want {
			t.Errorf("KeyOf(%q) = %#x, want %#x", test.uid, got, test.want)
		}
	}
}

func FuzzKeyOf(f *testing.F) {
	f.Add("01234567-89ab-cdef-0123-456789abcdef")
	f.Add("not hex")
	f.Fuzz(func(t *testing.T, uid string) {
		key := reserve.KeyOf(uid)
		if hexUID := strings.NewReplacer("-", "", "_", "").Replace(uid); len(hexUID) >= 16 {
			var want uint64
			if n, err := fmt.Sscanf(hexUID[:16], "%16x", &want); err == nil && n == 1 && isHex(hexUID[:16]) {
				if key != reserve.PodKey(want) {
					t.Errorf("KeyOf(%q) = %#x, want %#x", uid, key, want)
				}
			}
		}
		if got := reserve.KeyOf(strings.ReplaceAll(uid, "-", "_")); got != key {
			t.Errorf("underscores change the key of %q", uid)
		}
	})
}

func isHex(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }) < 0
}

func TestAdmit(t *testing.T) {
	for _, test := range []struct {
		name     string
		signal   reserve.Signal
		inflight float64
		demand   float64
		rules    reserve.Rules
		want     reserve.Reason
	}{
		{"room for one", reserve.Signal{Avail: 1}, 0, 1, reserve.Rules{}, reserve.Admitted},
		{"used by a pod in flight", reserve.Signal{Avail: 1}, 1, 1, reserve.Rules{}, reserve.NoRoom},
		{"just short", reserve.Signal{Avail: .999}, 0, 1, reserve.Rules{}, reserve.NoRoom},
		{"small demand still needs minFreePods", reserve.Signal{Avail: .9}, 0, .1, reserve.Rules{}, reserve.NoRoom},
		{"small minFreePods", reserve.Signal{Avail: .9}, 0, .1, reserve.Rules{MinFreePods: .5}, reserve.Admitted},
		{"large demand", reserve.Signal{Avail: 3}, 0, 4, reserve.Rules{}, reserve.NoRoom},
		{"saturated", reserve.Signal{Avail: 9, Saturated: true}, 0, 1, reserve.Rules{}, reserve.Saturated},
		{"slow start of an empty node", reserve.Signal{Avail: 99}, 2, 1, reserve.Rules{}, reserve.SlowStart},
		{"slow start grows with n", reserve.Signal{Avail: 99, Pods: 10}, 6, 1, reserve.Rules{}, reserve.Admitted},
		{"to 2 + n/2", reserve.Signal{Avail: 99, Pods: 10}, 7, 1, reserve.Rules{}, reserve.SlowStart},
		{"as much for 2 cores", reserve.Signal{Avail: 99, Cores: 2}, 2, 1, reserve.Rules{}, reserve.SlowStart},
		{"for one core", reserve.Signal{Avail: 99, Cores: 1}, 1, 1, reserve.Rules{}, reserve.Admitted},
		{"a pod per core", reserve.Signal{Avail: 99, Cores: 64}, 63, 1, reserve.Rules{}, reserve.Admitted},
		{"more than a pod per core", reserve.Signal{Avail: 99, Cores: 64}, 64, 1, reserve.Rules{}, reserve.SlowStart},
		{"with n/2 beyond it", reserve.Signal{Avail: 99, Cores: 16, Pods: 6}, 18, 1, reserve.Rules{}, reserve.Admitted},
		{"with another Burst", reserve.Signal{Avail: 99, Cores: 16}, 8, 1, reserve.Rules{Burst: 1}, reserve.SlowStart},
		{"NaN cores", reserve.Signal{Avail: 9, Cores: math.NaN()}, 0, 1, reserve.Rules{}, reserve.SlowStart},
		{"allowance lifts it", reserve.Signal{Avail: 99, Allowance: 20}, 19, 1, reserve.Rules{}, reserve.Admitted},
		{"NaN avail", reserve.Signal{Avail: math.NaN()}, 0, 1, reserve.Rules{}, reserve.NoRoom},
		{"NaN in flight", reserve.Signal{Avail: 9}, math.NaN(), 1, reserve.Rules{}, reserve.NoRoom},
		{"NaN demand", reserve.Signal{Avail: 9}, 0, math.NaN(), reserve.Rules{}, reserve.NoRoom},
		{"NaN allowance", reserve.Signal{Avail: 9, Allowance: math.NaN()}, 0, 1, reserve.Rules{}, reserve.SlowStart},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reserve.Fits(test.signal, reserve.Flight{Demand: test.inflight}, pods(test.demand), test.rules); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestSlotsCountsAdmissions calls Admit until it refuses.
func TestSlotsCountsAdmissions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		s := reserve.Signal{Avail: rng.Float64()*60 - 10, Allowance: float64(rng.IntN(2)) * rng.Float64() * 20, Pods: rng.IntN(40), Saturated: rng.IntN(20) == 0}
		if rng.IntN(2) == 0 {
			s.Avail = math.Round(s.Avail)
		}
		demand := []float64{1, 1, .25, .1, 2.5, 1. / 3}[rng.IntN(6)]
		start := float64(rng.IntN(10)) * demand
		rules := reserve.Rules{MinFreePods: []float64{0, .5, 2}[rng.IntN(3)]}
		want := 0
		flight := reserve.Flight{Demand: start, Stalled: start * float64(rng.IntN(2)) / 2, Late: start * float64(rng.IntN(2)) / 4}
		next := flight
		for reserve.Fits(s, next, pods(demand), rules) == reserve.Admitted {
			want++
			next.Demand = start + float64(want)*demand
		}
		if got := reserve.Slots(s, flight, pods(demand), rules); got != want {
			t.Fatalf("Slots(%+v, %+v, %v, %+v) = %d, want %d as by Admit", s, flight, pods(demand), rules, got, want)
		}
	}
	boundless := reserve.Signal{Avail: math.Inf(1), Allowance: math.Inf(1)}
	for _, s := range []reserve.Signal{{Avail: 1e300, Allowance: 1e300}, boundless} {
		if got := reserve.Slots(s, reserve.Flight{}, one, reserve.Rules{}); got != reserve.MaxSlots {
			t.Errorf("%+v: got %d slots, want MaxSlots", s, got)
		}
	}
	for _, demand := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		for _, s := range []reserve.Signal{{Avail: 5}, boundless} {
			if got := reserve.Slots(s, reserve.Flight{}, pods(demand), reserve.Rules{}); got != 0 {
				t.Errorf("got %d slots of %+v for demand %v", got, s, demand)
			}
		}
	}
	for _, inflight := range []float64{math.NaN(), math.Inf(1)} {
		if got := reserve.Slots(boundless, reserve.Flight{Demand: inflight}, one, reserve.Rules{}); got != 0 {
			t.Errorf("got %d slots with %v in flight", got, inflight)
		}
	}
}

func TestScore(t *testing.T) {
	blend, nan := reserve.Ranking{Blend: .5}, math.NaN()
	energyHalf, all := reserve.Ranking{Energy: .5}, reserve.Ranking{Blend: .25, Energy: .25}
	for _, test := range []struct {
		name          string
		free, k, g, u float64
		ranking       reserve.Ranking
		want          float64
	}{
		{"free alone", 4, 9, 25, 0, reserve.Ranking{}, 4},
		{"full node", -1, 9, 25, 0, reserve.Ranking{}, 0},
		{"chance adds up to the tie tolerance", 4, 9, 25, .5, reserve.Ranking{}, 4.25},
		{"wider ties", 4, 9, 25, .5, reserve.Ranking{TieTolerance: 2}, 5},
		{"geometric mean", 4, 9, 25, 0, blend, 6},
		{"no k", 4, 0, 25, 0, blend, 0},
		{"k alone", 4, 9, 25, 0, reserve.Ranking{Blend: 1}, 9},
		{"k alone, where nothing is free", 0, 9, 25, 0, reserve.Ranking{Blend: 1}, 0},
		{"NaN", nan, 9, 25, 0, reserve.Ranking{}, 0},
		{"NaN k", 4, nan, 25, 0, blend, 0},
		{"energy", 2.25, 9, 16, 0, energyHalf, 6},
		{"energy, with chance", 2.5, 9, 16, .5, energyHalf, 6},
		{"less than chance may remove", .25, 9, 16, 1, energyHalf, 0},
		{"ample without chance", 2.75, 9, 16, 1, energyHalf, 6},
		{"ample, whatever chance removes", 3.25, 9, 11, 1, energyHalf, 5.5},
		{"more than ample", 100, 9, 11, 0, energyHalf, 5.5},
		{"more than ample where energy weighs less", 44, 1, 1, 0, all, 2 * math.Sqrt(2.75)},
		{"more than ample where energy weighs more", 64, 1, 16, 0, reserve.Ranking{Energy: .75}, 8 * math.Pow(2.75, .25)},
		{"energy on a full node", 0, 9, 25, 0, energyHalf, 0},
		{"no goodness of energy", 4, 9, 0, 0, energyHalf, 0},
		{"all three", 2.25, 16, 81, 0, all, 9},
		{"energy alone", -3, nan, 25, 0, reserve.Ranking{Energy: 1}, 25},
		{"k and energy alone", -3, 4, 25, 0, blendOf(.5, .5), 10},
		{"weights that add up to 1 but for rounding", -3, 1, 1, 0, blendOf(.7, .3), 1},
		{"unknown energy", 4, 9, nan, 0, energyHalf, 4},
		{"unknown energy beside k", 4, 9, nan, 0, blendOf(.5, .5), 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reserve.Score(test.free, test.k, test.g, test.u, test.ranking); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func blendOf(k, energy float64) reserve.Ranking { return reserve.Ranking{Blend: k, Energy: energy} }

func TestNormalize(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name string
		raw  []float64
		want []int64
	}{
		{"none", []float64{}, []int64{}},
		{"proportional", []float64{2, 8, 4, 0}, []int64{25, 100, 50, 0}},
		{"equal", []float64{3, 3}, []int64{100, 100}},
		{"all full", []float64{0, 0, -4}, []int64{0, 0, 0}},
		{"unknown gets the midpoint", []float64{2, nan, 8}, []int64{25, 62, 100}},
		{"all unknown", []float64{nan, nan}, []int64{50, 50}},
		{"extremes", []float64{math.Inf(1), 5, math.Inf(-1)}, []int64{100, 0, 0}},
		{"tiny", []float64{5e-324, 1e-323}, []int64{50, 100}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, dst := range [][]int64{nil, make([]int64, 1), make([]int64, 9)} {
				if diff := cmp.Diff(test.want, reserve.NormalizeTo(dst, test.raw), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("into %d (-want +got):\n%s", len(dst), diff)
				}
			}
		})
	}
	dst := make([]int64, 0, 3)
	if got := reserve.NormalizeTo(dst, []float64{1, 2, 3}); &got[0] != &dst[:1][0] {
		t.Error("a destination with room was not used")
	}
}

// TestBlendIsFreeOfUnits: a common factor of all k changes no score.
func TestBlendIsFreeOfUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ranking := reserve.Ranking{Blend: .4}
	for range 1000 {
		var raw, scaled []float64
		for range 8 {
			free, k := rng.Float64()*10, rng.Float64()*100
			raw = append(raw, reserve.Score(free, k, math.NaN(), 0, ranking))
			scaled = append(scaled, reserve.Score(free, k*17.3, math.NaN(), 0, ranking))
		}
		a, b := reserve.NormalizeTo(nil, raw), reserve.NormalizeTo(nil, scaled)
		for i := range a {
			if d := a[i] - b[i]; d > 1 || d < -1 {
				t.Fatalf("scores %v and %v", a, b)
			}
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add(1., 2., 3.)
	f.Add(math.NaN(), math.Inf(1), -1.)
	f.Fuzz(func(t *testing.T, a, b, c float64) {
		raw := []float64{a, b, c}
		got := reserve.NormalizeTo(nil, raw)
		for i := range got {
			if got[i] < 0 || got[i] > 100 {
				t.Fatalf("NormalizeTo(%v) = %v", raw, got)
			}
			for j := range got {
				if raw[i] > raw[j] && got[i] < got[j] {
					t.Fatalf("NormalizeTo(%v) = %v: order lost", raw, got)
				}
			}
		}
	})
}

func TestStalePolicy(t *testing.T) {
	for _, p := range []reserve.StalePolicy{reserve.Neutral, reserve.Reject, reserve.Allow} {
		got, err := reserve.ParseStalePolicy(p.String())
		if err != nil || got != p {
			t.Errorf("ParseStalePolicy(%q) = %v, %v", p, got, err)
		}
	}
	if p, err := reserve.ParseStalePolicy(""); p != reserve.Neutral || err != nil {
		t.Errorf("empty policy: got %v, %v", p, err)
	}
	if got := (reserve.Allow + 1).String(); got != "StalePolicy(3)" {
		t.Errorf("unknown policy: got text %q", got)
	}
}

func TestErrorsNameFieldAndValue(t *testing.T) {
	_, policy := reserve.ParseStalePolicy("Panic")
	_, ledger := reserve.NewLedger(-1)
	for _, test := range []struct {
		err   error
		field string
		value any
	}{
		{reserve.Rules{MinFreePods: -1}.Validate(), "MinFreePods", -1.},
		{reserve.Rules{Burst: math.Inf(-1)}.Validate(), "Burst", math.Inf(-1)},
		{reserve.Rules{Growth: math.Inf(1)}.Validate(), "Growth", math.Inf(1)},
		{reserve.Ranking{Blend: 1.5}.Validate(), "Blend", 1.5},
		{reserve.Ranking{Blend: -.5}.Validate(), "Blend", -.5},
		{reserve.Ranking{Energy: -.5}.Validate(), "Energy", -.5},
		{reserve.Ranking{Energy: 1.5}.Validate(), "Energy", 1.5},
		{reserve.Ranking{Energy: math.Inf(1)}.Validate(), "Energy", math.Inf(1)},
		{blendOf(.625, .5).Validate(), "Energy", .5},
		{reserve.Ranking{TieTolerance: -1}.Validate(), "TieTolerance", -1.},
		{reserve.Ranking{TieTolerance: math.Inf(1)}.Validate(), "TieTolerance", math.Inf(1)},
		{ledger, "ttl", time.Duration(-1)},
		{reserve.Freshness{MaxAge: -1}.Validate(), "MaxAge", time.Duration(-1)},
		{reserve.Freshness{Grace: -1}.Validate(), "Grace", time.Duration(-1)},
		{reserve.Freshness{Policy: 3}.Validate(), "Policy", reserve.StalePolicy(3)},
		{policy, "Policy", "Panic"},
		{reserve.Rules{Spread: -1}.Validate(), "Spread", -1.},
		{reserve.Rules{Caution: math.Inf(1)}.Validate(), "Caution", math.Inf(1)},
		{reserve.Rules{CPUDemandPerCore: 2.5}.Validate(), "CPUDemandPerCore", 2.5},
		{reserve.Demand{}.Validate(), "Demand.Typical[cpu]", 0.},
		{reserve.Demand{Typical: [2]float64{1, 1.5}}.Validate(), "Demand.Typical[memory]", 1.5},
		{reserve.Demand{Typical: [2]float64{1, -.5}}.Validate(), "Demand.Typical[memory]", -.5},
		{reserve.Demand{Amount: [2]float64{4097, 0}}.Validate(), "Demand.Amount[cpu]", 4097.},
		{reserve.Demand{Amount: [2]float64{1, math.Inf(1)}}.Validate(), "Demand.Amount[memory]", math.Inf(1)},
		{reserve.Demand{Amount: [2]float64{1, 1}, Var: [2]float64{0, -1}}.Validate(), "Demand.Var[memory]", -1.},
		{reserve.Demand{Typical: [2]float64{1, 1}, Cores: -1}.Validate(), "Demand.Cores", -1.},
	} {
		if !errors.Is(test.err, reserve.ErrInvalid) {
			t.Errorf("got error %v, want ErrInvalid of %s", test.err, test.field)
			continue
		}
		if want := fmt.Sprintf("reserve: %s = %v: invalid", test.field, test.value); !strings.HasPrefix(test.err.Error(), want) {
			t.Errorf("got error %q, want prefix %q", test.err, want)
		}
	}
	for _, err := range []error{
		reserve.Rules{}.Validate(), reserve.Rules{CPUDemandPerCore: 2}.Validate(), reserve.TypicalPod().Validate(), reserve.Ranking{}.Validate(), reserve.Freshness{}.Validate(),
		reserve.Ranking{Blend: 1}.Validate(), blendOf(.5, .5).Validate(), blendOf(0, 1).Validate(), reserve.Freshness{Policy: reserve.Allow}.Validate(),
	} {
		if err != nil {
			t.Errorf("value in range: got error %v", err)
		}
	}
	if err := (reserve.Rules{Burst: math.NaN()}).Validate(); err == nil {
		t.Error("NaN is in range")
	}
}

// TestKeysKeepSixtyRandomBits: a key is half of the UID, of which four bits are the UUID's version.
func TestKeysKeepSixtyRandomBits(t *testing.T) {
	seen := reserve.PodKey(0)
	rng := rand.New(rand.NewPCG(6, 4))
	first := reserve.KeyOf("00000000-0000-4000-8000-000000000000")
	for range 2000 {
		a, b := rng.Uint64(), rng.Uint64()
		uid := fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(a), uint16(a>>32), a>>48&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
		seen |= reserve.KeyOf(uid) ^ first
	}
	if got := bits.OnesCount64(uint64(seen)); got != 60 {
		t.Errorf("got %d varying bits of a key, want 60", got)
	}
}

// names reports whether err is an error of package reserve about the field.
func names(err error, field string) bool {
	return err != nil && strings.Contains(err.Error(), "reserve: "+field+" = ")
}
