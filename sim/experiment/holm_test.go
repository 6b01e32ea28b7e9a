package experiment_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// The expected values are those of R's p.adjust(p, "holm"), and by hand.
func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{.01, .02, .03, .04, .05}, []float64{.05, .08, .09, .09, .09}},
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{[]float64{.6, .001}, []float64{.6, .002}},
		{[]float64{.9, .8}, []float64{1, 1}},
		{[]float64{nan, .02, nan, .03}, []float64{nan, .04, nan, .04}}, // what was not tested does not count
	} {
		before := append([]float64(nil), test.p...)
		got := experiment.Holm(test.p)
		if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(0, 1e-12), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.p, diff)
		}
		if diff := cmp.Diff(before, test.p, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("the argument was changed:\n%s", diff)
		}
	}
}

// Three ratios of e, e² and e³: the logarithms have mean 2, deviation 1 and so t = 2√3, which
// two degrees of freedom exceed either way with probability 1 − t/√(t² + 2) = .0742.
func TestHeadlines(t *testing.T) {
	c := cases(t, "memory", experiment.Params{Nodes: 1, Pods: 2}, experiment.Sweep{Law: []workload.Law{workload.Equal}})
	var rows []experiment.Row
	for seed := range uint64(3) {
		for scheduler, value := range map[string]float64{"spazio": math.Exp(float64(seed + 1)), "default": 1, "requests-right": math.Exp(float64(seed + 1))} {
			rows = append(rows, experiment.Row{Experiment: c[0].Label, Scheduler: scheduler, Seed: seed, Metric: "sojourn_mean", Value: value})
		}
	}
	want := 1 - 2*math.Sqrt(3)/math.Sqrt(14)
	got := experiment.Headlines(c, rows)
	if len(got) != 2 || got[0].Other != "default" || math.Abs(got[0].P-want) > 1e-9 || math.Abs(got[0].Adjusted-2*want) > 1e-9 || got[1].P != 1 {
		t.Errorf("%+v, want p = %.4f, twice that, and 1", got, want)
	}
}

// shortest is a scheduler of another package: it prefers the node with the fewest pods.
type shortest struct{}

func (shortest) Start(c *sim.Cluster) (sim.Policy, error) { return shortestPolicy{c}, nil }

type shortestPolicy struct{ *sim.Cluster }

func (shortestPolicy) Admits(int, int) bool { return true }
func (p shortestPolicy) Score(scores []float64, nodes []int, _ int) {
	for i, n := range nodes {
		scores[i] = -float64(len(p.PodsTo(nil, n)))
	}
}

// A scheduler of the user's is compared under its name like the others.
func TestOwnScheduler(t *testing.T) {
	b1 := cases(t, "b1", experiment.Params{Nodes: 2, Pods: 16}, experiment.Sweep{Work: []float64{1}, Law: []workload.Law{workload.Equal}})
	o := experiment.Options{Seeds: []uint64{1, 2}, Schedulers: []string{"default", "mine"}, Own: map[string]sim.Scheduler{"mine": shortest{}}}
	rows, err := experiment.Run(t.Context(), b1, o)
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string]int{}
	for _, r := range rows {
		metrics[r.Scheduler]++
	}
	if metrics["mine"] == 0 || metrics["mine"] != metrics["default"] {
		t.Errorf("rows by scheduler: %v", metrics)
	}
	o.Schedulers = nil
	if rows, err = experiment.Run(t.Context(), b1, o); err != nil || rows[len(rows)-1].Scheduler != "mine" {
		t.Errorf("without names the last scheduler is not mine, error %v", err)
	}
	for name, s := range map[string]sim.Scheduler{"default": shortest{}, "idle": shortest{}, "nothing": nil} {
		_, err := experiment.Run(t.Context(), b1, experiment.Options{Seeds: []uint64{1}, Own: map[string]sim.Scheduler{name: s}})
		refusedBy(t, name, err)
	}
}

func refusedBy(t *testing.T, name string, err error) {
	t.Helper()
	var refused *field.Error
	if !errors.As(err, &refused) || refused.Field != "Own" || refused.Value != name || !errors.Is(err, experiment.ErrOwn) {
		t.Errorf("%s: error %v", name, err)
	}
}
