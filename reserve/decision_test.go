package reserve_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		{"in flight takes it", reserve.Signal{Avail: 1}, 1, 1, reserve.Rules{}, reserve.NoRoom},
		{"just short", reserve.Signal{Avail: .999}, 0, 1, reserve.Rules{}, reserve.NoRoom},
		{"small demand still needs epsilon", reserve.Signal{Avail: .9}, 0, .1, reserve.Rules{}, reserve.NoRoom},
		{"small epsilon", reserve.Signal{Avail: .9}, 0, .1, reserve.Rules{Epsilon: .5}, reserve.Admitted},
		{"large demand", reserve.Signal{Avail: 3}, 0, 4, reserve.Rules{}, reserve.NoRoom},
		{"saturated", reserve.Signal{Avail: 9, Saturated: true}, 0, 1, reserve.Rules{}, reserve.Saturated},
		{"slow start of an empty node", reserve.Signal{Avail: 99}, 2, 1, reserve.Rules{}, reserve.SlowStart},
		{"slow start grows with n", reserve.Signal{Avail: 99, Pods: 10}, 6, 1, reserve.Rules{}, reserve.Admitted},
		{"to 2 + n/2", reserve.Signal{Avail: 99, Pods: 10}, 7, 1, reserve.Rules{}, reserve.SlowStart},
		{"allowance lifts it", reserve.Signal{Avail: 99, Allowance: 20}, 19, 1, reserve.Rules{}, reserve.Admitted},
		{"NaN avail", reserve.Signal{Avail: math.NaN()}, 0, 1, reserve.Rules{}, reserve.NoRoom},
		{"NaN in flight", reserve.Signal{Avail: 9}, math.NaN(), 1, reserve.Rules{}, reserve.NoRoom},
		{"NaN demand", reserve.Signal{Avail: 9}, 0, math.NaN(), reserve.Rules{}, reserve.NoRoom},
		{"NaN allowance", reserve.Signal{Avail: 9, Allowance: math.NaN()}, 0, 1, reserve.Rules{}, reserve.SlowStart},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reserve.Admit(test.signal, test.inflight, test.demand, test.rules); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestSlotsCountsAdmissions asks Admit until it refuses.
func TestSlotsCountsAdmissions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		s := reserve.Signal{Avail: rng.Float64()*60 - 10, Allowance: float64(rng.IntN(2)) * rng.Float64() * 20, Pods: rng.IntN(40), Saturated: rng.IntN(20) == 0}
		if rng.IntN(2) == 0 {
			s.Avail = math.Round(s.Avail)
		}
		demand := []float64{1, 1, .25, .1, 2.5, 1. / 3}[rng.IntN(6)]
		start := float64(rng.IntN(10)) * demand
		rules := reserve.Rules{Epsilon: []float64{0, .5, 2}[rng.IntN(3)]}
		want := 0
		for reserve.Admit(s, start+float64(want)*demand, demand, rules) == reserve.Admitted {
			want++
		}
		if got := reserve.Slots(s, start, demand, rules); got != want {
			t.Fatalf("Slots(%+v, %v, %v, %+v) = %d, Admit admits %d", s, start, demand, rules, got, want)
		}
	}
	if got := reserve.Slots(reserve.Signal{Avail: 1e300, Allowance: 1e300}, 0, 1, reserve.Rules{}); got != reserve.MaxSlots {
		t.Errorf("boundless node has %d slots, want MaxSlots", got)
	}
	for _, demand := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := reserve.Slots(reserve.Signal{Avail: 5}, 0, demand, reserve.Rules{}); got != 0 {
			t.Errorf("%d slots for demand %v", got, demand)
		}
	}
}

func TestScore(t *testing.T) {
	blend := reserve.Ranking{Blend: .5}
	for _, test := range []struct {
		name       string
		free, k, u float64
		ranking    reserve.Ranking
		want       float64
	}{
		{"free alone", 4, 9, 0, reserve.Ranking{}, 4},
		{"full node", -1, 9, 0, reserve.Ranking{}, 0},
		{"chance adds up to the tie width", 4, 9, .5, reserve.Ranking{}, 4.25},
		{"wider ties", 4, 9, .5, reserve.Ranking{TieWidth: 2}, 5},
		{"geometric mean", 4, 9, 0, blend, 6},
		{"no k", 4, 0, 0, blend, 0},
		{"k alone", 4, 9, 0, reserve.Ranking{Blend: 1}, 9},
		{"NaN", math.NaN(), 9, 0, reserve.Ranking{}, 0},
		{"NaN k", 4, math.NaN(), 0, blend, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := reserve.Score(test.free, test.k, test.u, test.ranking); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

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
			got, err := reserve.NormalizeTo(nil, test.raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	var wrong *reserve.LengthError
	if _, err := reserve.NormalizeTo(make([]int64, 1), make([]float64, 2)); !errors.As(err, &wrong) {
		t.Errorf("wrong length: %v", err)
	}
}

// TestBlendIsFreeOfUnits: a factor common to all k changes no score.
func TestBlendIsFreeOfUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ranking := reserve.Ranking{Blend: .4}
	for range 1000 {
		var raw, scaled []float64
		for range 8 {
			free, k := rng.Float64()*10, rng.Float64()*100
			raw = append(raw, reserve.Score(free, k, 0, ranking))
			scaled = append(scaled, reserve.Score(free, k*17.3, 0, ranking))
		}
		a, _ := reserve.NormalizeTo(nil, raw)
		b, _ := reserve.NormalizeTo(nil, scaled)
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
		got, err := reserve.NormalizeTo(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] < 0 || got[i] > reserve.MaxScore {
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
		if admits := p.Admit() == reserve.Admitted; admits != (p != reserve.Reject) {
			t.Errorf("%v admits: %v", p, admits)
		}
	}
	if p, err := reserve.ParseStalePolicy(""); p != reserve.Neutral || err != nil {
		t.Errorf("empty policy is %v, %v", p, err)
	}
	var unknown *reserve.PolicyError
	if _, err := reserve.ParseStalePolicy("Panic"); !errors.As(err, &unknown) || unknown.Name != "Panic" {
		t.Errorf("unknown policy: %v", err)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{reserve.Rules{Epsilon: -1}.Validate(), "Epsilon"},
		{reserve.Rules{Burst: math.NaN()}.Validate(), "Burst"},
		{reserve.Rules{Growth: math.Inf(1)}.Validate(), "Growth"},
		{reserve.Ranking{Blend: 1.5}.Validate(), "Blend"},
		{reserve.Ranking{TieWidth: -1}.Validate(), "TieWidth"},
		{reserve.LedgerConfig{TTL: -1}.Validate(), "TTL"},
		{reserve.LedgerConfig{Linger: -1}.Validate(), "Linger"},
	} {
		var field *reserve.FieldError
		if !errors.As(test.err, &field) || field.Field != test.want {
			t.Errorf("%v, want an error of %s", test.err, test.want)
		}
	}
	for _, err := range []error{reserve.Rules{}.Validate(), reserve.Ranking{}.Validate(), reserve.LedgerConfig{}.Validate()} {
		if err != nil {
			t.Errorf("the zero value: %v", err)
		}
	}
}
