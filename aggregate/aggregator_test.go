package aggregate_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// push is a model with the time of its arrival.
type push struct {
	at    time.Time
	local aggregate.Local
}

// observe returns the model of some blocks of random load.
func observe(t testing.TB, rng *rand.Rand, dim, blocks int) svd.State {
	t.Helper()
	var m svd.Model
	for range blocks {
		block := make([][]float64, 10)
		for j := range block {
			block[j] = make([]float64, dim)
			for i := range block[j] {
				block[j][i] = rng.Float64() * float64(i+1) / float64(dim)
			}
		}
		var err error
		if m, err = svd.Update(m, block, svd.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return m.State()
}

// fleet returns several pushes of each of some nodes, some of them restarted, in order of time.
func fleet(t testing.TB, rng *rand.Rand, nodes, pushes, dim int) []push {
	t.Helper()
	var all []push
	for n := range nodes {
		at := start.Add(time.Duration(rng.Int64N(1e10)))
		incarnation := uint64(1)
		for s := range pushes {
			if rng.IntN(10) == 0 {
				incarnation++
			}
			at = at.Add(time.Duration(rng.Int64N(int64(2 * time.Minute))))
			all = append(all, push{at, aggregate.Local{
				Node:        fmt.Sprintf("node-%03d", n),
				Incarnation: incarnation, Sequence: uint64(s),
				Schema: "cpu,memory",
				Model:  observe(t, rng, dim, 1+rng.IntN(4)),
			}})
		}
	}
	slices.SortFunc(all, func(x, y push) int { return x.at.Compare(y.at) })
	return all
}

// batch is the naive reference: the newest push of each node, weighted by capped mass and age, summed
// at once.
func batch(pushes []push, at time.Time, halfLife, forget time.Duration) (g []float64, mass float64, nodes int) {
	newest := map[string]push{}
	for _, p := range pushes {
		old, ok := newest[p.local.Node]
		if !ok || p.local.Incarnation > old.local.Incarnation ||
			p.local.Incarnation == old.local.Incarnation && p.local.Sequence > old.local.Sequence {
			newest[p.local.Node] = p
		}
	}
	for _, p := range newest {
		age := at.Sub(p.at)
		if age > forget {
			continue
		}
		nodes++
		w := min(2, p.local.Model.Mass) * math.Exp2(-float64(age)/float64(halfLife))
		mass += w
		model, _ := svd.FromState(p.local.Model)
		if g == nil {
			g = make([]float64, model.Dim()*model.Dim())
		}
		for i, v := range model.MomentsTo(nil) {
			g[i] += w * v
		}
	}
	for i := range g {
		g[i] /= mass
	}
	return g, mass, nodes
}

func feed(t testing.TB, a *aggregate.Aggregator, pushes ...push) {
	t.Helper()
	for _, p := range pushes {
		if _, err := a.Put(p.at, p.local); err != nil {
			t.Fatal(err)
		}
	}
}

func create(t testing.TB, o aggregate.Options) *aggregate.Aggregator {
	t.Helper()
	a, err := aggregate.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// only returns the single global model.
func only(t testing.TB, a *aggregate.Aggregator, at time.Time) aggregate.Global {
	t.Helper()
	globals, err := a.Globals(at)
	if err != nil || len(globals) != 1 {
		t.Fatalf("Globals: %v, %v, want one", globals, err)
	}
	return globals[0]
}

// distance is the Frobenius norm of x − y relative to the trace of y.
func distance(x, y []float64) float64 {
	dim := int(math.Sqrt(float64(len(y))))
	var sum, trace float64
	for i := range y {
		sum += (x[i] - y[i]) * (x[i] - y[i])
		if i%(dim+1) == 0 {
			trace += y[i]
		}
	}
	return math.Sqrt(sum) / trace
}

const halfLife, forget, silence = 5 * time.Minute, 50 * time.Minute, 30 * time.Second

func TestEqualsTheBatchInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pushes := fleet(t, rng, 40, 8, 4)
	at := pushes[len(pushes)-1].at.Add(time.Minute)
	want, mass, nodes := batch(pushes, at, halfLife, forget)
	worst := 0.0
	for range 100 {
		arrival := slices.Clone(pushes)
		for range 100 { // duplicates, at their own time
			arrival = append(arrival, pushes[rng.IntN(len(pushes))])
		}
		rng.Shuffle(len(arrival), func(i, j int) { arrival[i], arrival[j] = arrival[j], arrival[i] })
		a := create(t, aggregate.Options{})
		for i, p := range arrival {
			feed(t, a, p)
			if i%97 == 0 { // reading must not change anything
				if _, err := a.Globals(start); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := only(t, a, at)
		if got.Nodes != nodes || math.Abs(got.Model.Mass()-mass) > 1e-12*mass {
			t.Fatalf("got %d nodes of mass %v, want %d of %v", got.Nodes, got.Model.Mass(), nodes, mass)
		}
		worst = max(worst, distance(got.Model.MomentsTo(nil), want))
	}
	if worst > 1e-12 {
		t.Errorf("the global model is off by %.2g of its trace", worst)
	}
	t.Logf("largest distance from the batch: %.2g", worst)
}

func TestEqualsSVDMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a := create(t, aggregate.Options{})
	var want svd.Model
	for n := range 20 {
		state := observe(t, rng, 3, 1+n%3)
		feed(t, a, push{start, aggregate.Local{Node: fmt.Sprint(n), Schema: "s", Model: state}})
		model, err := svd.FromState(state)
		if err != nil {
			t.Fatal(err)
		}
		if want, err = svd.Merge(want, model); err != nil {
			t.Fatal(err)
		}
	}
	got := only(t, a, start).Model
	if d := distance(got.MomentsTo(nil), want.MomentsTo(nil)); d > 1e-12 || math.Abs(got.Mass()-want.Mass()) > 1e-12 {
		t.Errorf("distance %.2g, mass %v, want mass %v", d, got.Mass(), want.Mass())
	}
}

// TestDriftIsBounded changes masses and energies by orders of magnitude, so that subtracted terms are
// far larger than the rest.
func TestDriftIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a := create(t, aggregate.Options{})
	const nodes = 10
	latest := make([]push, nodes)
	worst := 0.0
	at := start
	for step := range 20_000 {
		at = at.Add(time.Duration(rng.Int64N(int64(20 * time.Second))))
		state := observe(t, rng, 3, 1)
		scale := math.Pow(10, -6*rng.Float64())
		for i := range state.Sigma {
			state.Sigma[i] *= scale
		}
		state.Mass = 2 * math.Pow(10, -6*rng.Float64())
		n := rng.IntN(nodes)
		latest[n] = push{at, aggregate.Local{Node: fmt.Sprint(n), Sequence: uint64(step), Schema: "s", Model: state}}
		feed(t, a, latest[n])
		if step%7 == 0 && step > 100 {
			want, _, _ := batch(latest, at, halfLife, forget)
			worst = max(worst, distance(only(t, a, at).Model.MomentsTo(nil), want))
		}
	}
	if worst > 1e-12 {
		t.Errorf("the global model is off by %.2g of its trace", worst)
	}
	t.Logf("largest distance from the batch: %.2g", worst)
}

func TestSilentNodesFadeAndGo(t *testing.T) {
	a := create(t, aggregate.Options{HalfLife: time.Minute, Forget: 3 * time.Minute})
	cpu := svd.State{Dim: 2, Block: 10, Mass: 2, U: []float64{1, 0}, Sigma: []float64{1}}
	memory := svd.State{Dim: 2, Block: 10, Mass: 2, U: []float64{0, 1}, Sigma: []float64{1}}
	feed(t, a,
		push{start, aggregate.Local{Node: "silent", Schema: "s", Model: cpu}},
		push{start.Add(2 * time.Minute), aggregate.Local{Node: "alive", Schema: "s", Model: memory}})
	at := start.Add(2 * time.Minute)
	if diff := cmp.Diff([]float64{.2, 0, 0, .8}, only(t, a, at).Model.MomentsTo(nil), close12); diff != "" {
		t.Errorf("after two half-lives (-want +got):\n%s", diff)
	}
	at = start.Add(3*time.Minute + 1)
	got := only(t, a, at)
	if diff := cmp.Diff([]float64{0, 0, 0, 1}, got.Model.MomentsTo(nil), close12); diff != "" || got.Nodes != 1 {
		t.Errorf("after forgetting, %d nodes (-want +got):\n%s", got.Nodes, diff)
	}
	at = at.Add(time.Hour)
	if globals, err := a.Globals(at); err != nil || len(globals) != 0 || a.Len() != 0 {
		t.Errorf("long after: got %v, %v, %d nodes", globals, err, a.Len())
	}
}

var close12 = cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-12 })

func TestSchemasDoNotMix(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	a := create(t, aggregate.Options{})
	two, three := observe(t, rng, 2, 1), observe(t, rng, 3, 1)
	feed(t, a,
		push{start, aggregate.Local{Node: "a", Schema: "y", Model: two}},
		push{start, aggregate.Local{Node: "b", Schema: "x", Model: two}},
		push{start, aggregate.Local{Node: "c", Schema: "y", Model: three}})
	summary := func() (s []string) {
		globals, err := a.Globals(start)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range globals {
			s = append(s, fmt.Sprintf("%s/%d:%d", g.Schema, g.Dim, g.Nodes))
		}
		return s
	}
	if diff := cmp.Diff([]string{"x/2:1", "y/2:1", "y/3:1"}, summary()); diff != "" {
		t.Error(diff)
	}
	// A node that changes its schema leaves its former one.
	feed(t, a, push{start, aggregate.Local{Node: "a", Sequence: 1, Schema: "x", Model: two}})
	if diff := cmp.Diff([]string{"x/2:2", "y/3:1"}, summary()); diff != "" {
		t.Error(diff)
	}
}

func TestMassIsCapped(t *testing.T) {
	honest := svd.State{Dim: 2, Block: 10, Mass: 2, U: []float64{1, 0}, Sigma: []float64{1}}
	for name, greedy := range map[string]svd.State{
		"mass":  {Dim: 2, Block: 10, Mass: 1e90, U: []float64{0, 1}, Sigma: []float64{1}},
		"block": {Dim: 2, Block: 1 << 20, Mass: 2, U: []float64{0, 1}, Sigma: []float64{math.Sqrt((1 << 20) / 10.)}},
	} {
		a := create(t, aggregate.Options{})
		feed(t, a,
			push{start, aggregate.Local{Node: "honest", Schema: "s", Model: honest}},
			push{start, aggregate.Local{Node: "greedy", Schema: "s", Model: greedy}})
		got := only(t, a, start).Model.MomentsTo(nil)
		if diff := cmp.Diff([]float64{.5, 0, 0, .5}, got, close12); diff != "" {
			t.Errorf("greedy %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestClockJumps(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	a := create(t, aggregate.Options{})
	state := observe(t, rng, 2, 1)
	feed(t, a,
		push{time.Unix(0, 0), aggregate.Local{Node: "a", Schema: "s", Model: state}},
		push{start, aggregate.Local{Node: "b", Schema: "s", Model: state}},
		push{start, aggregate.Local{Node: "a", Sequence: 1, Schema: "s", Model: state}},
		push{time.Unix(0, 0), aggregate.Local{Node: "b", Sequence: 1, Schema: "s", Model: state}})
	model, err := svd.FromState(state)
	if err != nil {
		t.Fatal(err)
	}
	got := only(t, a, start)
	if d := distance(got.Model.MomentsTo(nil), model.MomentsTo(nil)); d > 1e-12 || got.Nodes != 1 {
		t.Errorf("distance %.2g, %d nodes, want 1", d, got.Nodes)
	}
}

func TestModelsWithoutMassDoNotCount(t *testing.T) {
	a := create(t, aggregate.Options{})
	feed(t, a, push{start, aggregate.Local{Node: "a", Schema: "s", Model: svd.State{Dim: 1, Block: 1, U: []float64{1}, Sigma: []float64{0}}}})
	if globals, err := a.Globals(start); err != nil || len(globals) != 0 {
		t.Errorf("Globals: %v, %v", globals, err)
	}
}

func TestRefusals(t *testing.T) {
	state := svd.State{Dim: 2, Block: 10, Mass: 1, U: []float64{1, 0}, Sigma: []float64{1}}
	skewed := state
	skewed.U = []float64{1, 1}
	centred := state
	centred.Mean = make([]float64, state.Dim)
	for _, tt := range []struct {
		name  string
		local aggregate.Local
		cause error
	}{
		{"no node", aggregate.Local{Schema: "s", Model: state}, aggregate.ErrMissing},
		{"no schema", aggregate.Local{Node: "b", Model: state}, aggregate.ErrMissing},
		{"no model", aggregate.Local{Node: "b", Schema: "s"}, svd.ErrRange},
		{"skewed", aggregate.Local{Node: "b", Schema: "s", Model: skewed}, svd.ErrOrthonormal},
		{"centred", aggregate.Local{Node: "b", Schema: "s", Model: centred}, aggregate.ErrCentred},
		{"one cost", aggregate.Local{Node: "b", Schema: "s", Model: state, Costs: make([]aggregate.Cost, 1)}, aggregate.ErrLength},
		{"cost of zero", aggregate.Local{Node: "b", Schema: "s", Model: state, Costs: []aggregate.Cost{{}, {Known: true}}}, aggregate.ErrRange},
		{"NaN deviation", aggregate.Local{Node: "b", Schema: "s", Model: state, Costs: []aggregate.Cost{{Value: 1, SD: math.NaN(), Known: true}, {}}}, aggregate.ErrRange},
		{"one node over the limit", aggregate.Local{Node: "b", Schema: "s", Model: state}, aggregate.ErrFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := create(t, aggregate.Options{MaxNodes: 1})
			feed(t, a, push{start, aggregate.Local{Node: "a", Schema: "s", Model: state}})
			before := only(t, a, start)
			if changed, err := a.Put(start, tt.local); changed || !errors.Is(err, tt.cause) {
				t.Errorf("Put: %v, %v, want %v", changed, err, tt.cause)
			}
			if after := only(t, a, start); !after.Model.Equal(before.Model) || after.Nodes != before.Nodes {
				t.Error("a refused model changed the state")
			}
		})
	}
}

func TestOptionErrors(t *testing.T) {
	for name, o := range map[string]aggregate.Options{
		"HalfLife":   {HalfLife: -1},
		"Forget":     {Forget: -1},
		"Forgetting": {Forgetting: 1},
		"Block":      {Block: -1},
		"MaxNodes":   {MaxNodes: 1 << 23},
		"MaxGroups":  {MaxGroups: -1},
	} {
		_, err := aggregate.New(o)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("New(%+v): got error %v, want a *field.Error of %s", o, err, name)
		}
	}
}

func TestPutKeepsNothingOfItsInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	a := create(t, aggregate.Options{})
	l := aggregate.Local{Node: "a", Schema: "s", Model: observe(t, rng, 2, 1), Costs: []aggregate.Cost{{1, 1, true}, {}}}
	feed(t, a, push{start, l})
	before := only(t, a, start)
	clear(l.Model.U)
	clear(l.Model.Sigma)
	clear(l.Costs)
	after := only(t, a, start)
	if !after.Model.Equal(before.Model) || !slices.Equal(before.Costs, after.Costs) {
		t.Error("a change of the input reached the state")
	}
}

func TestPutDoesNotAllocate(t *testing.T) {
	for _, centred := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(13, 14))
		a := create(t, aggregate.Options{})
		samples := make([][]float64, 10)
		for i := range samples {
			samples[i] = []float64{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64()}
		}
		m, err := svd.Update(svd.Model{}, samples, svd.Options{Centre: centred})
		if err != nil {
			t.Fatal(err)
		}
		l := aggregate.Local{Node: "a", Schema: "s", Model: m.State(), Costs: make([]aggregate.Cost, 4)}
		feed(t, a, push{start, l})
		if n := testing.AllocsPerRun(100, func() {
			l.Sequence++
			if changed, err := a.Put(start, l); err != nil || !changed {
				t.Fatal(changed, err)
			}
		}); n != 0 {
			t.Errorf("centred %v: got %v allocations of Put", centred, n)
		}
	}
}
