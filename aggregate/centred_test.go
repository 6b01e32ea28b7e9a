package aggregate_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// samplesOf draws a block of samples of dim channels in [0,1] about a random mean, along so many axes
// of different ranges.
func samplesOf(rng *rand.Rand, count, dim, axes int, reach float64) [][]float64 {
	mean := make([]float64, dim)
	for i := range mean {
		mean[i] = .3 + .4*rng.Float64()
	}
	block := make([][]float64, count)
	for j := range block {
		block[j] = append([]float64(nil), mean...)
		for k := range axes {
			along := reach * math.Pow(.5, float64(k)) * (2*rng.Float64() - 1)
			for i := range dim {
				block[j][i] += along * math.Sin(float64(1+i*(k+1)+k*k)) / math.Sqrt(float64(dim))
			}
		}
	}
	return block
}

// centred returns the centred model of a block of samples.
func centred(t testing.TB, block [][]float64) svd.Model {
	t.Helper()
	m, err := svd.Update(svd.Model{}, block, svd.Options{Block: len(block), Centre: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func pushed(name string, m svd.Model) aggregate.Local {
	return aggregate.Local{Node: name, Incarnation: 1, Sequence: 1, Schema: "s", Model: m.State()}
}

// put pushes models and expects them to be accepted.
func put(t testing.TB, a *aggregate.Aggregator, locals ...aggregate.Local) {
	t.Helper()
	for _, l := range locals {
		if ok, err := a.Put(start, l); !ok || err != nil {
			t.Fatalf("%s: %v, %v", l.Node, ok, err)
		}
	}
}

// apart returns the sine of the largest principal angle between the spaces of the first k directions:
// the largest norm of a residual.
func apart(a, b svd.Model, k int) float64 {
	var squares float64
	for i := range k {
		u := a.VectorTo(nil, i)
		rest := append([]float64(nil), u...)
		for j := range k {
			v, along := b.VectorTo(nil, j), 0.
			for c := range v {
				along += u[c] * v[c]
			}
			for c := range v {
				rest[c] -= along * v[c]
			}
		}
		for _, r := range rest {
			squares += r * r
		}
	}
	return math.Sqrt(squares)
}

// TestCentredFleetIsThePooledData: the merged models span what one model of all their samples spans,
// for every number of directions, with its singular values and mean; also if the loads hardly vary
// about varying means, or vary along few directions only.
func TestCentredFleetIsThePooledData(t *testing.T) {
	for name, c := range map[string]struct {
		dim, axes   int
		reach, most float64
	}{
		"of all directions": {6, 6, .5, 1e-6},
		"of three":          {6, 3, .5, 1e-6},
		"two channels":      {2, 2, .5, 1e-6},
		"calm":              {4, 4, 1e-5, 1e-6},
	} {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 1))
			a := create(t, aggregate.Options{Forgetting: .99, Block: 25})
			var pooled [][]float64
			var locals []aggregate.Local
			for n := range 12 {
				// With little variation the means differ as little, or they would dominate.
				block := samplesOf(rng, 25, c.dim, c.axes, c.reach)
				if c.reach < 1e-3 {
					shift := rng.Float64() * c.reach
					base := samplesOf(rand.New(rand.NewPCG(seed, 2)), 1, c.dim, 0, 0)[0]
					same := samplesOf(rng, 25, c.dim, c.axes, c.reach)
					first := append([]float64(nil), same[0]...)
					for j := range block {
						for i := range block[j] {
							block[j][i] = base[i] + same[j][i] - first[i] + shift*float64(i)
						}
					}
				}
				pooled = append(pooled, block...)
				locals = append(locals, pushed(fmt.Sprint(n), centred(t, block)))
			}
			rng.Shuffle(len(locals), func(i, j int) { locals[i], locals[j] = locals[j], locals[i] })
			put(t, a, locals...)
			g, want := only(t, a, start), centred(t, pooled)
			if !g.Model.Centred() || g.Nodes != 12 || g.Model.Block() != 25 {
				t.Fatalf("%s: %+v", name, g)
			}
			if d := cmp.Diff(want.MeanTo(nil), g.Model.MeanTo(nil), cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-12 })); d != "" {
				t.Fatalf("%s: mean (-pooled +merged):\n%s", name, d)
			}
			for k := 1; k <= c.dim; k++ {
				if want.Sigma(k-1) < 1e-7*want.Sigma(0) {
					break // below this, rounding decides
				}
				if off := apart(g.Model, want, k); off > c.most {
					t.Errorf("%s, seed %d: the first %d directions differ by %g", name, seed, k, off)
				}
				got, stated := g.Model.Sigma(k-1), want.Sigma(k-1)*math.Sqrt(25./float64(len(pooled)))
				if math.Abs(got-stated) > 1e-6*stated {
					t.Errorf("%s, seed %d: σ%d is %g, pooled %g", name, seed, k, got, stated)
				}
			}
		}
	}
}

// TestCentredFleetFades: ages and capped masses weigh the means like the mean squares, as svd.Blend of
// two does with the same shares.
func TestCentredFleetFades(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	old, fresh := centred(t, samplesOf(rng, 10, 3, 3, .3)), centred(t, samplesOf(rng, 10, 3, 3, .3))
	a := create(t, aggregate.Options{HalfLife: time.Minute})
	put(t, a, pushed("old", old))
	later := start.Add(time.Minute)
	if ok, err := a.Put(later, pushed("new", fresh)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	globals, err := a.Globals(later)
	if err != nil || len(globals) != 1 {
		t.Fatal(globals, err)
	}
	want, err := svd.Blend(old, fresh, 2./3)
	if err != nil {
		t.Fatal(err)
	}
	alike(t, globals[0].Model, want)
	if mass := globals[0].Model.Mass(); math.Abs(mass-1.5) > 1e-12 {
		t.Errorf("mass %g, want 1.5", mass)
	}
}

// alike compares two models except for their masses.
func alike(t *testing.T, got, want svd.Model) {
	t.Helper()
	for name, pair := range map[string][2][]float64{
		"mean": {got.MeanTo(nil), want.MeanTo(nil)}, "moments": {got.MomentsTo(nil), want.MomentsTo(nil)},
	} {
		if d := cmp.Diff(pair[1], pair[0], cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-12 })); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestCentredStandstill: nodes without any variation have a model whose directions have no energy.
func TestCentredStandstill(t *testing.T) {
	a := create(t, aggregate.Options{})
	for n := range 3 {
		put(t, a, pushed(fmt.Sprint(n), centred(t, [][]float64{{.3, .7}, {.3, .7}})))
	}
	if g := only(t, a, start); g.Model.Sigma(0) > 1e-12 {
		t.Errorf("σ₁ = %g", g.Model.Sigma(0))
	}
}

// TestKindsDoNotMix: a schema's first model determines its kind. Others are refused and change nothing,
// unless the node is the only one.
func TestKindsDoNotMix(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	block := samplesOf(rng, 10, 2, 2, .3)
	mean := centred(t, block)
	plain, err := svd.Update(svd.Model{}, block, svd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kinds := range [][2]svd.Model{{mean, plain}, {plain, mean}} {
		a := create(t, aggregate.Options{})
		put(t, a, pushed("a", kinds[1]))
		other := pushed("a", kinds[0])
		other.Sequence++
		put(t, a, other) // it is the only node
		put(t, a, pushed("b", kinds[0]))
		before := only(t, a, start)
		for _, name := range []string{"a", "c"} {
			l := pushed(name, kinds[1])
			l.Sequence = 9
			_, err := a.Put(start, l)
			var bad *field.Error
			if !errors.As(err, &bad) || bad.Field != "Model.Mean" || !errors.Is(err, aggregate.ErrCentred) {
				t.Errorf("%s: %v", name, err)
			}
			entry := entryOf(t, l)
			if _, err := a.Merge(start, entry, 7); !errors.Is(err, aggregate.ErrCentred) {
				t.Errorf("from a replica, %s: got error %v", name, err)
			}
		}
		if after := only(t, a, start); !after.Model.Equal(before.Model) || after.Nodes != 2 {
			t.Errorf("a refused push changed the model")
		}
		elsewhere := pushed("c", kinds[1])
		elsewhere.Schema = "other"
		put(t, a, elsewhere)
	}
}

// entryOf returns the entry that an aggregator keeps of a push.
func entryOf(t *testing.T, l aggregate.Local) aggregate.Entry {
	t.Helper()
	a := create(t, aggregate.Options{})
	put(t, a, l)
	return a.Entries(start)[0]
}

// TestCentredEntries: an entry that is sent to a replica, or stored, yields the same model.
func TestCentredEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	a, b := create(t, aggregate.Options{}), create(t, aggregate.Options{})
	for n := range 6 {
		put(t, a, pushed(fmt.Sprint(n), centred(t, samplesOf(rng, 10, 4, 4, .3))))
	}
	for i, e := range a.Entries(start) {
		take := func(at time.Time, e aggregate.Entry) (bool, error) { return b.Merge(at, e, 9) }
		if i%2 == 0 {
			take = b.Restore
		}
		if ok, err := take(start, e); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if plain := e; e.Size() < 80+8*(len(plain.Moments)+len(plain.Mean)) {
			t.Errorf("size %d", e.Size())
		}
	}
	if d := cmp.Diff(a.Entries(start), b.Entries(start)); d != "" {
		t.Errorf("entries:\n%s", d)
	}
	if x, y := only(t, a, start), only(t, b, start); !x.Model.Equal(y.Model) {
		t.Errorf("%v and %v", x.Model.State(), y.Model.State())
	}
	e := a.Entries(start)[0]
	for name, edit := range map[string]func(*aggregate.Entry){
		"len(Mean)": func(e *aggregate.Entry) { e.Mean = e.Mean[1:] },
		"Mean[1]":   func(e *aggregate.Entry) { e.Mean = []float64{.1, 1.1, .1, .1} },
		"Mean[3]":   func(e *aggregate.Entry) { e.Mean = []float64{.1, .1, .1, math.NaN()} },
		"Mean[0]":   func(e *aggregate.Entry) { e.Mean = []float64{-.1, .1, .1, .1} },
	} {
		bad := e
		edit(&bad)
		var which *field.Error
		if err := bad.Validate(); !errors.As(err, &which) || which.Field != name {
			t.Errorf("%v, want %s", err, name)
		}
	}
	l := pushed("x", centred(t, samplesOf(rng, 10, 2, 2, .3)))
	l.Model.Mean = []float64{.5, 1.5}
	var which *field.Error
	if err := l.Validate(); !errors.As(err, &which) || which.Field != "Model.Mean[1]" || !errors.Is(err, aggregate.ErrRange) {
		t.Errorf("%v", err)
	}
}

// FuzzCentred: a pair of pushes is refused, or merges to one valid model.
func FuzzCentred(f *testing.F) {
	f.Add(.5, .1, 0., 1., .2, .3)
	f.Add(1., 0., 1., 0., 1e-9, 1e-160)
	f.Add(.3, .3, .3, .3, 0., 0.)
	f.Fuzz(func(t *testing.T, a, b, c, d, v, w float64) {
		agg, err := aggregate.New(aggregate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		taken := 0
		for i, mean := range [][]float64{{a, b}, {c, d}, {b, c}} {
			l := aggregate.Local{Node: fmt.Sprint(i), Schema: "s", Model: svd.State{
				Dim: 2, Block: 10, Mass: 1, U: []float64{.6, .8, -.8, .6}, Sigma: []float64{max(v, w), min(v, w)}, Mean: mean,
			}}
			if ok, err := agg.Put(start, l); ok && err == nil {
				taken++
			}
		}
		globals, err := agg.Globals(start)
		if err != nil || len(globals) > 1 || taken > 0 && len(globals) == 0 {
			t.Fatalf("got %d models of %d pushes: %v", len(globals), taken, err)
		}
		for _, g := range globals {
			if err := g.Model.State().Validate(); err != nil || !g.Model.Centred() {
				t.Fatalf("%v: %+v", err, g.Model.State())
			}
		}
	})
}
