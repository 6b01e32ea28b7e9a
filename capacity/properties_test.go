package capacity_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/capacity"
)

// eachLoad visits random usages and demands of 1 to 8 channels.
func eachLoad(visit func(rng *rand.Rand, y, q []float64, k float64)) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		d := 1 + rng.IntN(8)
		y, q := make([]float64, d), make([]float64, d)
		for i := range y {
			y[i], q[i] = rng.Float64(), .01+rng.Float64()
		}
		r, err := capacity.Solve(y, q, capacity.Options{})
		if err != nil {
			panic(err)
		}
		visit(rng, y, q, r.K)
	}
}

func solve(t *testing.T, y, q []float64, o capacity.Options) capacity.Result {
	t.Helper()
	r, err := capacity.Solve(y, q, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func scaled(v []float64, by float64) []float64 {
	w := make([]float64, len(v))
	for i := range v {
		w[i] = v[i] * by
	}
	return w
}

func TestSolveFindsWhatBisectionFinds(t *testing.T) {
	eachLoad(func(_ *rand.Rand, y, q []float64, k float64) {
		if want := bisect(y, q, capacity.DefaultMax); math.Abs(k-want) > 1e-9 {
			t.Fatalf("k = %v, bisection %v (y=%v q=%v)", k, want, y, q)
		}
	})
}

func TestSolveFillsOneChannel(t *testing.T) {
	eachLoad(func(_ *rand.Rand, y, q []float64, k float64) {
		most := 0.
		for i := range y {
			most = math.Max(most, y[i]+k*q[i])
		}
		if k > 0 && k < capacity.DefaultMax && math.Abs(most-1) > 1e-12 {
			t.Fatalf("max(y + kq) = %v, want 1", most)
		}
	})
}

func TestSolveFallsWithUsage(t *testing.T) {
	eachLoad(func(rng *rand.Rand, y, q []float64, k float64) {
		y[rng.IntN(len(y))] += rng.Float64()
		if more := solve(t, y, q, capacity.Options{}); more.K > k {
			t.Fatalf("k rose from %v to %v with usage", k, more.K)
		}
	})
}

func TestSolveFallsWithDemand(t *testing.T) {
	eachLoad(func(rng *rand.Rand, y, q []float64, k float64) {
		if more := solve(t, y, scaled(q, 1+rng.Float64()), capacity.Options{}); more.K > k {
			t.Fatalf("k rose from %v to %v with the size of the demand", k, more.K)
		}
		q[rng.IntN(len(q))] += rng.Float64()
		if more := solve(t, y, q, capacity.Options{}); more.K > k {
			t.Fatalf("k rose from %v to %v with one demand", k, more.K)
		}
	})
}

func TestSolveScales(t *testing.T) {
	eachLoad(func(rng *rand.Rand, y, q []float64, k float64) {
		by := math.Exp2(float64(rng.IntN(9) - 4)) // exact
		got := solve(t, y, scaled(q, by), capacity.Options{Epsilon: 1e-300, Max: 1e9})
		want := solve(t, y, q, capacity.Options{Epsilon: 1e-300, Max: 1e9})
		if got.K != want.K/by || got.Limiting != want.Limiting {
			t.Fatalf("demand times %v: k = %v, want %v", by, got.K, want.K/by)
		}
	})
}

func TestSolvePermutes(t *testing.T) {
	eachLoad(func(rng *rand.Rand, y, q []float64, k float64) {
		order := rng.Perm(len(y))
		py, pq := make([]float64, len(y)), make([]float64, len(y))
		for i, j := range order {
			py[i], pq[i] = y[j], q[j]
		}
		got, want := solve(t, py, pq, capacity.Options{}), solve(t, y, q, capacity.Options{})
		if got.K != k || order[got.Limiting] != want.Limiting {
			t.Fatalf("permuted: k = %v by channel %d, want %v by %d", got.K, order[got.Limiting], k, want.Limiting)
		}
	})
}

func TestHeadroomIsSolveInAbsoluteUnits(t *testing.T) {
	eachLoad(func(rng *rand.Rand, y, u []float64, _ float64) {
		size := .1 + rng.Float64()
		h, limiting, err := capacity.Headroom(y, u)
		if err != nil {
			t.Fatal(err)
		}
		r := solve(t, y, scaled(u, size), capacity.Options{Max: 1e9})
		if math.Abs(r.K*size-h) > 1e-9*h || r.Limiting != limiting {
			t.Fatalf("h = %v by %d, k·s = %v by %d", h, limiting, r.K*size, r.Limiting)
		}
	})
}

func TestHeadroomEdges(t *testing.T) {
	for _, tt := range []struct {
		name     string
		y, u     []float64
		h        float64
		limiting int
	}{
		{"full", []float64{1.2, .5}, []float64{.6, .8}, 0, 0},
		{"full aside of the direction", []float64{1, .2}, []float64{0, 1}, .8, 1},
		{"negative elements do not limit", []float64{.9, .2}, []float64{-.6, .8}, 1, 1},
		{"no direction", []float64{.9, .2}, []float64{0, 0}, math.Inf(1), -1},
		{"no channels", nil, nil, math.Inf(1), -1},
	} {
		h, limiting, err := capacity.Headroom(tt.y, tt.u)
		if err != nil || limiting != tt.limiting || !(h == tt.h || math.Abs(h-tt.h) < 1e-12) {
			t.Errorf("%s: h = %v by %d, error %v; want %v by %d", tt.name, h, limiting, err, tt.h, tt.limiting)
		}
	}
}

// TestAvailableRules holds that the lower equation counts, and how caution acts.
func TestAvailableRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		ch := make([]capacity.Channel, 1+rng.IntN(4))
		for i := range ch {
			ch[i] = capacity.Channel{Usage: .97 * rng.Float64(), Capacity: rng.Float64(), Cost: .05 + .2*rng.Float64(), CostSD: .1 * rng.Float64(), PodSD: .1 * float64(rng.IntN(2))}
		}
		p := capacity.Pods{Now: float64(rng.IntN(8)), Measured: float64(rng.IntN(8))}
		at := func(o capacity.AvailOptions) float64 {
			o.FloorBelow = capacity.NoFloor
			a, err := capacity.Available(ch, p, o)
			if err != nil {
				t.Fatal(err)
			}
			return a.Pods
		}
		signal, model := math.Inf(1), math.Inf(1)
		for i := range ch {
			room := ch[i].Room(p, capacity.AvailOptions{})
			signal, model = min(signal, room.Signal), min(model, room.Model)
		}
		least := at(capacity.AvailOptions{})
		if least != math.Min(signal, model) {
			t.Fatalf("least of both %v, signal %v, model %v", least, signal, model)
		}
		if careless := at(capacity.AvailOptions{Caution: capacity.NoCaution}); careless < least {
			t.Fatalf("caution raised avail from %v to %v", careless, least)
		}
		if more := at(capacity.AvailOptions{Allowance: 2}); math.Abs(more-least-2) > 1e-12 {
			t.Fatalf("an allowance of 2 raised avail from %v to %v", least, more)
		}
		ch[0].Usage = math.Min(ch[0].Usage+.1, .97)
		if loaded := at(capacity.AvailOptions{}); loaded > least {
			t.Fatalf("avail rose from %v to %v with usage", least, loaded)
		}
	}
}

// TestAvailableIsMonotone: more usage, a higher or less certain cost, pods that
// differ more, a larger reserve and more caution never raise avail.
func TestAvailableIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	// some is 0 as often as not, or spread over many magnitudes.
	some := func(most float64) float64 {
		if rng.IntN(2) == 0 {
			return 0
		}
		return most * math.Pow(10, -12*rng.Float64()*float64(rng.IntN(2)))
	}
	type arguments struct {
		c capacity.Channel
		o capacity.AvailOptions
	}
	raise := map[string]func(a *arguments, by float64){
		"usage":   func(a *arguments, by float64) { a.c.Usage += by },
		"cost":    func(a *arguments, by float64) { a.c.Cost += by },
		"CostSD":  func(a *arguments, by float64) { a.c.CostSD += by },
		"PodSD":   func(a *arguments, by float64) { a.c.PodSD += by },
		"reserve": func(a *arguments, by float64) { a.c.Reserve = min(a.c.Reserve+by, .999) },
		"caution": func(a *arguments, by float64) { a.o.Caution += by },
	}
	names := slices.Sorted(maps.Keys(raise))
	for range 300_000 {
		a := arguments{
			c: capacity.Channel{
				Usage: 1.2 * rng.Float64(), Capacity: some(2), Cost: .001 + some(1), CostSD: some(.5), PodSD: some(.5),
				Reserve: some(.9), ShortLived: rng.IntN(4) == 0,
			},
			o: capacity.AvailOptions{
				Caution: 1e-9 + some(3), Allowance: some(4),
			},
		}
		other := capacity.Channel{Usage: rng.Float64(), Capacity: 1, Cost: .1}
		p := capacity.Pods{Now: float64(rng.IntN(30)), Measured: float64(rng.IntN(30))}
		at := func(a arguments) float64 {
			got, err := capacity.Available([]capacity.Channel{other, a.c}, p, a.o)
			if err != nil {
				t.Fatal(err)
			}
			return got.Pods
		}
		before := at(a)
		name := names[rng.IntN(len(names))]
		more := a
		raise[name](&more, some(1))
		if after := at(more); !(after <= before+1e-9*(1+math.Abs(before))) {
			t.Fatalf("avail rises from %v to %v with %s, from %+v to %+v at %+v", before, after, name, a, more, p)
		}
	}
}
