package aggregate_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/svd"
)

// loads returns one model per node, of samples about a mean that depends on the node and the channel.
func loads(t testing.TB, rng *rand.Rand, nodes, dim int, mean func(node, channel int) float64) []svd.State {
	t.Helper()
	states := make([]svd.State, nodes)
	for n := range states {
		var m svd.Model
		for range 4 {
			block := make([][]float64, 10)
			for j := range block {
				block[j] = make([]float64, dim)
				for i := range block[j] {
					block[j][i] = min(1, mean(n, i)*(.7+.6*rng.Float64()))
				}
			}
			var err error
			if m, err = svd.Update(m, block, svd.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		states[n] = m.State()
	}
	return states
}

// fleets are honest, with different distributions of load.
var fleets = []struct {
	name string
	mean func(node, channel int) float64
}{
	{"alike", func(_, i int) float64 { return .6 / float64(i+1) }},
	{"idle", func(_, i int) float64 { return .02 / float64(i+1) }},
	{"half idle, half loaded", func(n, i int) float64 { return []float64{.02, .7}[n%2] / float64(i+1) }},
	{"one in five loaded", func(n, i int) float64 { return []float64{.7, .02, .02, .02, .02}[n%5] / float64(i+1) }},
	{"one in twenty loaded", func(n, i int) float64 {
		if n%20 == 0 {
			return .7 / float64(i+1)
		}
		return .02 / float64(i+1)
	}},
	{"half CPU, half memory", func(n, i int) float64 {
		if n%2 == i%2 {
			return .6
		}
		return .1
	}},
	{"spread over two decades", func(n, i int) float64 { return math.Pow(10, -2*float64(n*7919%1000)/1000) / float64(i+1) }},
}

// merged returns the global model of one push per state.
func merged(t testing.TB, o aggregate.Options, states ...[]svd.State) aggregate.Global {
	t.Helper()
	a := create(t, o)
	for i, some := range states {
		for n, s := range some {
			feed(t, a, push{start, aggregate.Local{Node: fmt.Sprint(i, "-", n), Schema: "s", Model: s}})
		}
	}
	return only(t, a, start)
}

// angle returns the angle between two models' directions u₁, in radians.
func angle(a, b svd.Model) float64 {
	x, y := a.DirectionTo(nil), b.DirectionTo(nil)
	var along, rest float64
	for i := range x {
		along += x[i] * y[i]
	}
	for i := range x {
		r := y[i] - along*x[i]
		rest += r * r
	}
	return math.Atan2(math.Sqrt(rest), math.Abs(along))
}

// TestClipCostsHonestFleets logs the effect of clipping without any hostile node, which is why clipping
// is off by default.
func TestClipCostsHonestFleets(t *testing.T) {
	for _, f := range fleets {
		rng := rand.New(rand.NewPCG(31, 32))
		states := loads(t, rng, 1000, 2, f.mean)
		plain := merged(t, aggregate.Options{}, states)
		for _, c := range []float64{1, 2, 3} {
			clipped := merged(t, aggregate.Options{Clip: c}, states)
			t.Logf("%s, c = %g: %d of %d clipped, G moves by %.2g of its trace, u₁ by %.2g°, sway of 1 %%: %.2g°, unclipped %.3g°", f.name, c, clipped.Clipped, clipped.Nodes,
				distance(clipped.Model.MomentsTo(nil), plain.Model.MomentsTo(nil)), angle(clipped.Model, plain.Model)*180/math.Pi, clipped.Sway(.01)*180/math.Pi, plain.Sway(.01)*180/math.Pi)
		}
	}
}

// hostileModels returns models that a hostile node may push: valid, and chosen against the honest
// fleet's model.
func hostileModels(rng *rand.Rand, honest svd.Model) map[string]func() svd.State {
	dim := honest.Dim()
	line := func(u []float64, energy float64) svd.State {
		var norm float64
		for _, v := range u {
			norm = math.Hypot(norm, v)
		}
		unit := make([]float64, dim)
		for i, v := range u {
			unit[i] = v / norm
		}
		return svd.State{Dim: dim, Block: 10, Mass: 1e6, U: unit, Sigma: []float64{math.Sqrt(10 * energy)}}
	}
	state := honest.State()
	component := func(i int) []float64 { return state.U[i*dim : (i+1)*dim] }
	all := map[string]func() svd.State{}
	for i := range dim {
		axis := make([]float64, dim)
		axis[i] = 1
		all[fmt.Sprint("full along axis ", i)] = func() svd.State { return line(axis, float64(dim)) }
	}
	for i := 1; i < dim; i++ {
		for power := range 5 {
			energy := float64(dim) * math.Pow(10, -float64(power))
			all[fmt.Sprintf("along component %d, %.2g", i, energy)] = func() svd.State { return line(component(i), energy) }
			for _, sign := range []float64{-1, 1} {
				for _, tilt := range []float64{.3, 1, 3} {
					mix := make([]float64, dim)
					for j := range mix {
						mix[j] = component(0)[j] + sign*tilt*component(i)[j]
					}
					all[fmt.Sprintf("towards component %d by %g, %.2g", i, sign*tilt, energy)] = func() svd.State { return line(mix, energy) }
				}
			}
		}
	}
	all["at random"] = func() svd.State {
		u := make([]float64, dim)
		for i := range u {
			u[i] = rng.NormFloat64()
		}
		return line(u, float64(dim)*rng.Float64())
	}
	all["nothing"] = func() svd.State { return line(component(0), 0) }
	return all
}

// stated is the angle in the package documentation for one hostile node in a hundred, c = 2 and fleets
// such as these.
const stated = 10 * math.Pi / 180

// TestHostileNodes: one node in a hundred pushes the worst model, and u₁ turns by at most the bound of
// Sway.
func TestHostileNodes(t *testing.T) {
	const nodes, hostile, share = 198, 2, .01
	dims := []int{2, 4}
	if testing.Short() {
		dims = dims[:1]
	}
	for _, dim := range dims {
		for _, f := range fleets {
			t.Run(fmt.Sprintf("d=%d/%s", dim, f.name), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(33, uint64(dim)))
				states := loads(t, rng, nodes, dim, f.mean)
				options := aggregate.Options{Clip: 2}
				honest := merged(t, options, states)
				plain := merged(t, aggregate.Options{}, states)
				// The honest nodes' mass is 1.875 of at most 2.
				weight := share * 2 / (share*2 + (1-share)*1.875)
				var worst, worstPlain, loosest float64
				for name, claim := range hostileModels(rng, honest.Model) {
					bad := make([]svd.State, hostile)
					for i := range bad {
						bad[i] = claim()
					}
					got := merged(t, options, states, bad)
					turned, bound := angle(got.Model, honest.Model), got.Sway(weight)
					if turned > bound {
						t.Errorf("%s: u₁ turned by %.3g°, want at most %.3g°", name, turned*180/math.Pi, bound*180/math.Pi)
					}
					worst, loosest = max(worst, turned), max(loosest, bound)
					worstPlain = max(worstPlain, angle(merged(t, aggregate.Options{}, states, bad).Model, plain.Model))
				}
				if loosest > stated {
					t.Errorf("got bound %.3g°, want %.3g°", loosest*180/math.Pi, stated*180/math.Pi)
				}
				t.Logf("worst %.3g°, bound %.3g°; without clipping %.3g°", worst*180/math.Pi, loosest*180/math.Pi, worstPlain*180/math.Pi)
			})
		}
	}
}

func TestClipKeepsNearNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	states := loads(t, rng, 50, 3, fleets[0].mean)
	plain, clipped := merged(t, aggregate.Options{}, states), merged(t, aggregate.Options{Clip: 10}, states)
	if clipped.Clipped != 0 || !plain.Model.Equal(clipped.Model) {
		t.Errorf("got %d clipped nodes; equal: %v", clipped.Clipped, plain.Model.Equal(clipped.Model))
	}
}

// TestClipIsOrderIndependent up to rounding: the weights are relative to the time of the first arrival.
func TestClipIsOrderIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 38))
	pushes := fleet(t, rng, 60, 1, 3)
	at := pushes[len(pushes)-1].at
	var want aggregate.Global
	for i := range 20 {
		a := create(t, aggregate.Options{Clip: 1})
		feed(t, a, pushes...)
		got := only(t, a, at)
		if i == 0 {
			want = got
		}
		if got.Clipped == 0 || got.Clipped != want.Clipped || distance(got.Model.MomentsTo(nil), want.Model.MomentsTo(nil)) > 1e-14 {
			t.Fatalf("order %d: %d clipped, want %d; distance %.2g", i, got.Clipped, want.Clipped, distance(got.Model.MomentsTo(nil), want.Model.MomentsTo(nil)))
		}
		rng.Shuffle(len(pushes), func(i, j int) { pushes[i], pushes[j] = pushes[j], pushes[i] })
	}
}

// TestCostPriorOfHostileNodes: one node in a hundred claims an arbitrary cost with certainty, among
// honest ones whose uncertainty is proportional to their costs: the prior stays within the middle of
// the honest ones.
func TestCostPriorOfHostileNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 40))
	for _, claim := range []float64{1e-30, 1e-3, .999, 1e3, 1e30} {
		var costs []aggregate.Cost
		for i := range 495 {
			costs = append(costs, aggregate.Cost{Value: .5 + float64(i)/494, SD: .8 + .4*rng.Float64(), Known: true})
		}
		for range 5 {
			costs = append(costs, aggregate.Cost{Value: claim, SD: 0, Known: true})
		}
		if got := priorOf(t, costs...); got.Value < .95 || got.Value > 1.05 {
			t.Errorf("one in a hundred claims %g: got prior %+v", claim, got)
		}
	}
}

func TestClipOptions(t *testing.T) {
	for _, o := range []aggregate.Options{{Clip: .5}, {Clip: math.NaN()}, {Clip: math.Inf(1)}} {
		_, err := aggregate.New(o)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != "Clip" {
			t.Errorf("New(%+v): %v", o, err)
		}
	}
}

func TestSwayBounds(t *testing.T) {
	g := merged(t, aggregate.Options{}, []svd.State{{Dim: 2, Block: 10, Mass: 2, U: []float64{1, 0}, Sigma: []float64{math.Sqrt(20)}}})
	if got := []float64{g.Sway(-1), g.Sway(1), g.Sway(math.NaN())}; cmp.Diff([]float64{math.Pi / 2, math.Pi / 2, math.Pi / 2}, got) != "" {
		t.Errorf("shares out of range: got %v", got)
	}
	if g.Sway(0) != 0 || !(g.Sway(.01) > 0 && g.Sway(.01) < g.Sway(.02)) {
		t.Errorf("the bound does not increase from 0: got %v, %v, %v", g.Sway(0), g.Sway(.01), g.Sway(.02))
	}
}

// TestSwayFormula checks the bound in numbers. A share of a quarter moves the matrix by 2·¼/(1−¼) =
// 2/3, and the gap of the energies per sample is 3.
func TestSwayFormula(t *testing.T) {
	model, err := svd.FromState(svd.State{Dim: 2, Block: 2, Mass: 1, U: []float64{1, 0, 0, 1}, Sigma: []float64{math.Sqrt(8), math.Sqrt2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ reach, kept, want float64 }{
		{2, 1, math.Asin(2. / 3 / (3 - 2./3))},
		{2, .5, math.Pi / 2}, // moves it by 2, more than half of the gap
		{1, .5, math.Asin(1. / 2)},
	} {
		g := aggregate.Global{Model: model, Reach: tt.reach, Kept: tt.kept}
		if got := g.Sway(.25); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("reach %g, kept %g: %g, want %g", tt.reach, tt.kept, got, tt.want)
		}
	}
}

// TestReachOfOne: for one node with all its energy of 2 per sample in one direction the norm is 2, and
// a node may be as far from it as √(d² + 2²).
func TestReachOfOne(t *testing.T) {
	third := 1 / math.Sqrt(3)
	g := merged(t, aggregate.Options{}, []svd.State{{Dim: 3, Block: 10, Mass: 2, U: []float64{third, third, third}, Sigma: []float64{math.Sqrt(20)}}})
	if want := math.Hypot(3, 2); math.Abs(g.Reach-want) > 1e-12 {
		t.Errorf("reach %g, want %g", g.Reach, want)
	}
}

// TestReachOfAClippedFleet: of 20 nodes twelve have all their energy of 1 per sample along the first
// channel and eight along the second. The elements' medians are the twelve's; the eight are √2 away,
// within nine tenths of the nodes, and the mean is .4·√2 away, on their side.
func TestReachOfAClippedFleet(t *testing.T) {
	along := func(u ...float64) svd.State {
		return svd.State{Dim: 2, Block: 10, Mass: 2, U: u, Sigma: []float64{math.Sqrt(10)}}
	}
	var states []svd.State
	for range 12 {
		states = append(states, along(1, 0))
	}
	for range 8 {
		states = append(states, along(0, 1))
	}
	for _, clip := range []float64{1.1, 3} {
		g := merged(t, aggregate.Options{Clip: clip}, states)
		if want := (clip + .4) * math.Sqrt2; g.Clipped != 0 || math.Abs(g.Reach-want) > 1e-9 {
			t.Errorf("c = %g: %d clipped, reach %g, want %g", clip, g.Clipped, g.Reach, want)
		}
	}
}
