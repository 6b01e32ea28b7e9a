package energy_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
)

// numbers returns the floats whose bits data has.
func numbers(data []byte) []float64 {
	out := make([]float64, 0, len(data)/8)
	for ; len(data) >= 8; data = data[8:] {
		out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return out
}

func spell(values ...float64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// FuzzMeter reads any values: totals never fall, no result is NaN, and zone b is unaffected by a.
func FuzzMeter(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x05\x00\x00\x00\x09\x02\x00\x00\x05\x00\x00\x00"))
	f.Add([]byte("\xff\x00\x10\x00\x05\x10\x00\x00\xf9\x02\x00\x20\x05\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newMeter(t, energy.MeterConfig{MaxWatts: 100})
		alone := newMeter(t, energy.MeterConfig{MaxWatts: 100})
		now, last := 0.0, 0.0
		for i := 0; len(data) >= 4; i++ {
			now += float64(int8(data[3])) / 16
			a := energy.Reading{Zone: "a", Counter: uint64(data[0]) << (data[1] % 56), Range: uint64(data[1]) << (data[2] % 56), At: after(now)}
			if data[2]&1 != 0 {
				a.Gauge, a.Watts = true, float64(data[0])
			}
			a.Part = data[2]&2 != 0
			data = data[4:]
			b := counter("b", float64(i%1000), float64(i))
			in, err := m.Add([]energy.Reading{a, b})
			lone, _ := alone.Add([]energy.Reading{b})
			if math.IsNaN(in.Joules+in.SD+in.Watts) || in.Joules < lone.Joules || in.SD < 0 || in.Watts < 0 {
				t.Fatalf("%+v", in)
			}
			if _, refused := causes(err)["b"]; refused && i > 0 {
				t.Fatal(err)
			}
			sum := 0.0
			for _, z := range m.TotalsTo(nil) {
				sum += z.Joules
			}
			if !(sum >= last) {
				t.Fatal("totals fell from", last, "to", sum)
			}
			last = sum
		}
		one, two := m.TotalsTo(nil), alone.TotalsTo(nil)
		if len(one) == 2 && one[1].Joules != two[0].Joules {
			t.Fatal(one, two)
		}
	})
}

// FuzzCurve learns any values: the result is a finite power that does not fall.
func FuzzCurve(f *testing.F) {
	f.Add(spell(.5, 80, .5, 80, .5, 80, .5, 80, .5, 80, .5, 80, .1, 1e6, 1, 0))
	f.Add(spell(math.NaN(), 80, .5, math.Inf(1), -1, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		k := newCurve(t, energy.CurveConfig{})
		v := numbers(data)
		for i := 0; i+1 < len(v); i += 2 {
			_ = k.Learn(v[i], v[i+1])
		}
		last := 0.0
		for u := 0.0; u <= 1; u += 1. / 64 {
			l, known := k.At(u)
			if math.IsNaN(l.Watts+l.SD) || math.IsInf(l.Watts+l.SD, 0) || l.Watts < last*(1-1e-9) || l.SD < 0 || !known && l != (energy.Level{}) {
				t.Fatalf("at %v: %+v after %v", u, l, last)
			}
			if s, _ := k.Marginal(u, .1); !(s.Watts >= 0) || math.IsInf(s.Watts, 0) || !(s.SD >= 0) {
				t.Fatalf("slope at %v: %+v", u, s)
			}
			for _, packages := range [][]float64{{l.Watts, l.Watts / 2}, {last, 1e300, 0}, v} {
				if r := k.Uneven(u, 2, packages); !(r >= 0 && r <= 1) {
					t.Fatalf("uneven by %v at %v of %v", r, u, packages)
				}
			}
			last = l.Watts
		}
	})
}

// FuzzSplit divides any values: they are refused by a field's name, or conserved.
func FuzzSplit(f *testing.F) {
	f.Add(uint8(0), true, spell(700, 7, 400, 20, 15, 40, 0, .03, 9, 1, 3, 3))
	f.Add(uint8(2), false, spell(1e15, 7, 1e15, 1e-300, 15, 40, 0, .03, 1e-308, 1, 3, 3))
	f.Add(uint8(0), true, spell(1e6, 0, 0, 9e-308, 9e-308, 1, 0, 0)) // its joules a core-second overflow
	f.Fuzz(func(t *testing.T, idle uint8, known bool, data []byte) {
		v := numbers(data)
		if len(v) < 8 {
			return
		}
		policies := []energy.IdlePolicy{energy.Unattributed, energy.ByWeight, energy.ByUsage, "odd"}
		a := energy.Account{Joules: v[0], SD: v[1], Idle: v[2], IdleKnown: known, Busy: v[3], Tree: v[4], Capacity: v[5], Weights: v[6], Residual: v[7]}
		for v = v[8:]; len(v) >= 2; v = v[2:] {
			a.Consumers = append(a.Consumers, energy.Consumer{CPU: v[0], Weight: v[1]})
		}
		shares, rest, err := energy.Split{Idle: policies[int(idle)%len(policies)]}.AttributeTo(nil, &a)
		if err != nil {
			var name *field.Error
			if !errors.As(err, &name) {
				t.Fatal(err)
			}
			return
		}
		sum := rest.Idle + rest.System + rest.Ended
		for _, s := range shares {
			sum += s.Joules
			if !(s.Joules >= 0 && s.Idle >= 0 && s.SD >= 0) {
				t.Fatalf("%+v of %+v", s, a)
			}
		}
		if math.IsNaN(sum) || math.Abs(sum-a.Joules) > 1e-12*a.Joules+1e-300 || min(rest.Idle, rest.System, rest.Ended) < 0 {
			t.Fatalf("%v of %v J: %+v", sum, a.Joules, a)
		}
	})
}

// FuzzBook observes any values: estimates are finite and not negative.
func FuzzBook(f *testing.F) {
	f.Add([]byte("\x01\x10web"), spell(1, 10, 2, 20, 3, 30))
	f.Add([]byte{0, 0, 0}, spell(math.NaN(), -1))
	f.Fuzz(func(t *testing.T, data, values []byte) {
		b := energy.NewBookOf(energy.BookConfig{Workloads: 2})
		v := numbers(values)
		now := 0.0
		for i := 0; i+1 < len(v) && len(data) > 0; i += 2 {
			d := data[i/2%len(data)]
			now += float64(int8(d))
			_ = b.Observe(string('a'+rune(d%4)), energy.Observation{Pod: uint64(d % 3), At: after(now), Cores: v[i], Watts: v[i+1], Metered: d&8 != 0})
		}
		for _, name := range []string{"a", "b", "c", "d", "none"} {
			e := b.Estimate(name)
			if !(e.Cores >= 0 && e.Cores <= energy.MaxCores && e.Watts >= 0 && e.Watts <= energy.MaxWatts && e.SD >= 0) || e.Pods < 0 {
				t.Fatalf("%s: %+v", name, e)
			}
		}
	})
}

// FuzzGoodness: goodness is positive and finite for any valid input.
func FuzzGoodness(f *testing.F) {
	f.Add(uint8(4), 3, 1.0, 1.0, uint8(0), true, spell(100, 1, 200, 40, 20, 3, 8, 1e6))
	f.Fuzz(func(t *testing.T, quality uint8, pods int, inflight, pod float64, objective uint8, sleep bool, data []byte) {
		v := numbers(data)
		if len(v) < 8 || !(inflight >= 0 && inflight <= 1e6) || !(pod >= 0 && pod <= 1e6) {
			return
		}
		p := energy.Power{Quality: energy.Quality(quality), Watts: v[0], SD: v[1], Max: v[2], Idle: v[3], Marginal: v[4], Busy: v[5], Cores: v[6], Joules: v[7]}
		if p.Validate() != nil {
			return
		}
		g := energy.Goodness(&p, pods, inflight, pod, energy.Objective(objective%2), sleep)
		if p.Known() != (g > 0 && !math.IsInf(g, 0)) {
			t.Fatalf("%v for %+v", g, p)
		}
	})
}
