package aggregate_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/svd"
)

// priorOf pushes one cost per node, all at the same time.
func priorOf(t *testing.T, costs ...aggregate.Cost) aggregate.Cost {
	t.Helper()
	a := create(t, aggregate.Options{})
	for i, c := range costs {
		feed(t, a, push{start, aggregate.Local{Node: fmt.Sprint(i), Schema: "s", Model: flat(), Costs: []aggregate.Cost{c}}})
	}
	return only(t, a, start).Costs[0]
}

func flat() svd.State {
	return svd.State{Dim: 1, Block: 10, Mass: 2, U: []float64{1}, Sigma: []float64{1}}
}

func TestPrior(t *testing.T) {
	type c = aggregate.Cost
	root := math.Sqrt(math.Pi / 2)
	for _, tt := range []struct {
		name  string
		costs []c
		want  c
	}{
		{"no known cost", []c{{Value: 9, SD: 9}, {}}, c{}},
		{"one known cost", []c{{1, .2, true}, {}}, c{1, .2 * root, true}},
		{"one claims certainty", []c{{1, 0, true}}, c{1, .1 * root, true}},
		{"certainty is relative", []c{{10, 0, true}}, c{10, root, true}},
		{"two agree", []c{{1, .2, true}, {1, .2, true}}, c{1, .2 * root / math.Sqrt2, true}},
		{"the middle of two", []c{{1, .2, true}, {3, .2, true}}, c{2, math.Hypot(1.4826022185056018, .2*root/math.Sqrt2), true}},
		{"the precise one wins", []c{{1, .5, true}, {2, .2, true}, {5, 2, true}}, c{2, math.Hypot(0, root/math.Sqrt(4+16+.25)), true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := gocmp.Diff(tt.want, priorOf(t, tt.costs...), close12); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// naivePrior sorts the deviations anew.
func naivePrior(costs []aggregate.Cost) aggregate.Cost {
	type pair struct{ x, w float64 }
	median := func(pairs []pair) float64 {
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.x, b.x) })
		var total, below float64
		for _, p := range pairs {
			total += p.w
		}
		for i, p := range pairs {
			if below += p.w; below > total/2*(1+1e-12) {
				return p.x
			} else if below > total/2*(1-1e-12) {
				return (p.x + pairs[i+1].x) / 2
			}
		}
		return math.NaN()
	}
	var plain, weighted []pair
	for _, c := range costs {
		plain = append(plain, pair{c.Value, 1})
	}
	floor := .1 * median(plain)
	var precisions []pair
	for _, c := range costs {
		sd := max(c.SD, floor)
		precisions = append(precisions, pair{1 / (sd * sd), 1})
	}
	most := 4 * median(slices.Clone(precisions))
	var precision float64
	for i, c := range costs {
		p := min(precisions[i].x, most)
		weighted = append(weighted, pair{c.Value, p})
		precision += p
	}
	value := median(weighted)
	for i, p := range weighted {
		weighted[i].x = math.Abs(p.x - value)
	}
	return aggregate.Cost{Value: value, SD: math.Hypot(1.4826022185056018*median(weighted), math.Sqrt(math.Pi/2/precision)), Known: true}
}

func TestPriorEqualsNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		costs := make([]aggregate.Cost, 1+rng.IntN(12))
		for i := range costs {
			// Few distinct values, so that ties and exact halves are common.
			costs[i] = aggregate.Cost{Value: float64(1+rng.IntN(5)) / 4, SD: float64(1+rng.IntN(2)) / 2, Known: true}
		}
		if diff := gocmp.Diff(naivePrior(costs), priorOf(t, costs...), close12); diff != "" {
			t.Fatalf("of %v (-naive +got):\n%s", costs, diff)
		}
	}
}

// TestPriorResists: a few nodes that claim extreme costs with certainty leave the prior within the
// honest nodes' range.
func TestPriorResists(t *testing.T) {
	for _, claim := range []float64{1e-30, 1e-12, 1e12} {
		var costs []aggregate.Cost
		for i := range 95 {
			costs = append(costs, aggregate.Cost{Value: .9 + .2*float64(i)/94, SD: .2, Known: true})
		}
		for range 5 {
			costs = append(costs, aggregate.Cost{Value: claim, SD: 0, Known: true})
		}
		got := priorOf(t, costs...)
		if got.Value < .9 || got.Value > 1.1 || got.SD > .3 {
			t.Errorf("5 of 100 nodes claim %g: got prior %+v", claim, got)
		}
	}
}

func TestPriorFades(t *testing.T) {
	a := create(t, aggregate.Options{HalfLife: time.Minute})
	for i, age := range []time.Duration{0, 0, 3, 3, 3} {
		value := 1.
		if age > 0 {
			value = 2
		}
		feed(t, a, push{start.Add(-age * time.Minute), aggregate.Local{Node: fmt.Sprint(i), Schema: "s", Model: flat(),
			Costs: []aggregate.Cost{{Value: value, SD: .5, Known: true}}}})
	}
	if got := only(t, a, start).Costs[0].Value; got != 1 {
		t.Errorf("three nodes silent for three half-lives outvote two recent ones: got %v", got)
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
