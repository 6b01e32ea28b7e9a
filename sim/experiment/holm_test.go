package experiment_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
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
	if len(got) != 3 || got[0].Other != "default" || math.Abs(got[0].P-want) > 1e-9 || math.Abs(got[0].Adjusted-3*want) > 1e-9 || got[1].P != 1 || !math.IsNaN(got[2].P) {
		t.Errorf("%+v, want p = %.4f, three times that, 1, and none of kills, which have no rows", got, want)
	}
}

// The table is of Spazio with profiles where that was run, has a row for what could not be computed,
// which counts as any other, and the experiments that came later.
func TestHeadlinesAsInstalled(t *testing.T) {
	var all []experiment.Case
	for _, name := range []string{"unlike", "profiles-mixes", "traces", "phases", "relief", "services"} {
		sweep := experiment.Sweep{Work: []float64{1}, Load: []float64{.5}, Requests: []workload.Requests{workload.RequestNone}}
		all = append(all, cases(t, name, experiment.Params{Nodes: 1, Pods: 2}, sweep)[0])
	}
	var rows []experiment.Row
	for i, c := range all {
		for seed := range uint64(3) {
			of := func(scheduler, metric string, value float64) {
				rows = append(rows, experiment.Row{Experiment: c.Label, Scheduler: scheduler, Seed: seed, Metric: metric, Value: value})
			}
			for _, scheduler := range []string{"default", "spazio-no-relief", "idle"} {
				of(scheduler, "sojourn_mean", 1)
				of(scheduler, "total_slowdown_p99", 1)
				of(scheduler, "server_p99", 1)
				of(scheduler, "server_p99_offered", 1)
				of(scheduler, "utilisation", .5)
			}
			of("default", "kills", 5)
			if i == 0 { // profiles are on in the others
				of("spazio-units", "sojourn_mean", math.Exp(float64(seed+1)))
				of("spazio-units", "kills", 0)
			}
			of("spazio", "sojourn_mean", 1)
			of("spazio", "total_slowdown_p99", 1)
			of("spazio", "server_p99", 1)
			of("spazio", "server_p99_offered", 1)
			of("spazio", "utilisation", .5)
		}
	}
	type row struct {
		Experiment, Scheduler, Metric string
		P, Adjusted                   string
	}
	var got []row
	for _, h := range experiment.Headlines(all, rows) {
		got = append(got, row{strings.SplitN(h.Experiment, "/", 2)[0], h.Scheduler, h.Metric, fmt.Sprintf("%.3f", h.P), fmt.Sprintf("%.3f", h.Adjusted)})
	}
	want := []row{
		{"unlike", "spazio-units", "sojourn_mean", "0.074", "0.593"}, // eight times it
		{"profiles-mixes", "spazio", "sojourn_mean", "1.000", "1.000"},
		{"unlike", "spazio-units", "kills", "NaN", "NaN"},
		{"traces", "spazio", "sojourn_mean", "1.000", "1.000"},
		{"phases", "spazio", "sojourn_mean", "1.000", "1.000"},
		{"services", "spazio", "server_p99", "1.000", "1.000"},
		{"services", "spazio", "cores_at_p99", "1.000", "1.000"},
		{"relief", "spazio", "total_slowdown_p99", "1.000", "1.000"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of the loads 0.3, 0.5 and 0.7 that take 10, 14 and 18 of 20 cores, and 6 without, one scheduler keeps
// to 1.2 times the 100 ms alone at two, another at none, and a third at none that answers some requests only.
func TestServiceCores(t *testing.T) {
	all := cases(t, "services", experiment.Params{Nodes: 5}, experiment.Sweep{Requests: []workload.Requests{workload.RequestNone}})
	if len(all) != 3 {
		t.Fatalf("%d cases", len(all))
	}
	offered := map[string]float64{"coin": 86400}
	var rows []experiment.Row
	for i, c := range all {
		for scheduler, p99 := range map[string][]float64{"idle": {.1, .1, .1}, "spazio": {.1, .119, .13}, "default": {.2, .4, .6}, "coin": {.1, .1, .1}} {
			used := .5 + .2*float64(i)
			if scheduler == "idle" {
				used = .3
			}
			for metric, value := range map[string]float64{"server_p99": p99[i], "server_p99_offered": max(p99[i], offered[scheduler]), "utilisation": used} {
				rows = append(rows, experiment.Row{Experiment: c.Label, Scheduler: scheduler, Seed: 4, Metric: metric, Value: value})
			}
		}
	}
	answered, answers := experiment.ServiceCores(all, rows)
	if len(answered) != 1 || answered[0].Label != "services/work=120/requests=none" {
		t.Errorf("cases %v", answered)
	}
	got := map[string]float64{}
	for _, r := range answers {
		if got[r.Scheduler] = r.Value; r.Experiment != "services/work=120/requests=none" || r.Metric != "cores_at_p99" || r.Seed != 4 || r.Unit != "cores" {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff(map[string]float64{"spazio": 14, "default": 6, "coin": 6}, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
