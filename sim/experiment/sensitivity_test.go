package experiment_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/capacity"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// Every number that can be set and that the default algorithm uses is a constant.
func TestConstantsAreComplete(t *testing.T) {
	none := []string{
		// These are no numbers.
		"agent.avail.rule", "agent.estimator.method",
		"agent.model.unit", "aggregate.policy", "no-fleet", "no-pooling", "blind-binds", "agent.homogeneous", "agent.own-model", "pressure", "agent.pause-on-churn", "agent.no-core-slots", "shortest-first",
		"overdue.off",
		// These belong to functions that are off by default, or to another method.
		"agent.avail.allowance", "node-reserve", "server-reserve",
		"agent.model.energy-low", "agent.model.energy-high", "agent.model.half-life", "ranking.blend",
		// These concern missing samples, and pods that another scheduler placed.
		"agent.max-age", "agent.init-lead",
		// These concern pods of known demand, of which there are none here.
		"rules.spread", "rules.caution", "rules.cpu-demand-per-core",
		"profiles.always-trusted", "profiles.config.slots",
		"profiles.day", "profiles.delay", "profiles.first", "profiles.frozen", "profiles.known", "profiles.on",
		"profiles.scalar", "profiles.snapshot", "profiles.usage",
		// These concern energy, which is off by default.
		"ranking.energy", "energy-objective", "idle-nodes-power-down",
		// These concern pods that wait for longer than these runs last.
		"overdue.max-wait",
		// These concern the signal that replaces the room.
		"agent.pronto",
		// These concern pods that a descheduler may evict, of which these runs have none.
		"relief",
		// Only its ratio to alpha counts.
		"agent.model.beta",
		// Bounds of the input: two channels have no more than two directions.
		"agent.model.rank", "aggregate.max-nodes", "aggregate.max-groups", "aggregate.max-bytes", "aggregate.caller-share", "aggregate.silence",
	}
	var got []string
	for _, c := range experiment.Constants() {
		got = append(got, c.Name)
	}
	got = append(got, none...)
	slices.Sort(got)
	if diff := cmp.Diff(experiment.Settings(), got); diff != "" {
		t.Errorf("settings (-all +constants):\n%s", diff)
	}
}

// A constant's name and text are a setting that changes the configuration and reads back as
// written, and another value has another text.
func TestConstantsRoundTrip(t *testing.T) {
	for _, c := range experiment.Constants() {
		texts := map[string]bool{}
		for _, scale := range []float64{.5, 1, 1.5} {
			var s sim.Spazio
			text := c.At(scale)
			if err := experiment.Set(&s, c.Name+"="+text); err != nil {
				t.Error(err)
				continue
			}
			if reflect.DeepEqual(s, sim.Spazio{}) {
				t.Errorf("%s=%s changes nothing", c.Name, text)
			}
			if got := fmt.Sprint(experiment.OptionsOf(&s)[c.Name].Interface()); got != text {
				t.Errorf("%s=%s reads back as %s", c.Name, text, got)
			}
			texts[text] = true
		}
		if got := fmt.Sprint(c.Default); !texts[got] {
			t.Errorf("%s: no %s among %v", c.Name, got, texts)
		}
		if len(texts) < 3 {
			t.Errorf("%s: %v is not three values", c.Name, texts)
		}
	}
}

// Setting every constant to its default is the same as setting none.
func TestConstantsAreTheDefaults(t *testing.T) {
	var set []string
	for _, c := range experiment.Constants() {
		set = append(set, c.Name+"="+c.At(1))
	}
	p := experiment.Params{Nodes: 4, Pods: 120}
	sweep := experiment.Sweep{Work: []float64{2}, Law: []workload.Law{workload.Exponential}}
	o := experiment.Options{Schedulers: []string{experiment.Spazio}, Seeds: []uint64{1, 2}, Workers: 2}
	want, err := experiment.Run(t.Context(), cases(t, "b3", p, sweep), o)
	if err != nil {
		t.Fatal(err)
	}
	p.Set = set
	got, err := experiment.Run(t.Context(), cases(t, "b3", p, sweep), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		label, suffix, ok := strings.Cut(got[i].Experiment, "/agent.")
		if !ok || "agent."+suffix != strings.Join(set, "/") {
			t.Fatalf("label %s", got[i].Experiment)
		}
		got[i].Experiment = label
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-defaults +set to them):\n%s", diff)
	}
}

func TestSetRefuses(t *testing.T) {
	var agentField *field.Error
	var simField *field.Error
	tests := []struct {
		assignment, name, value string
		is                      func(error) bool
	}{
		{"agent.churn-hold", "agent.churn-hold", "", nil},
		{"speed=1", "speed", "1", func(err error) bool {
			return errors.Is(err, experiment.ErrUnknownOption) && strings.Contains(err.Error(), "agent.churn-hold, ")
		}},
		{"agent.cores=8", "agent.cores", "8", func(err error) bool { return errors.Is(err, experiment.ErrUnknownOption) }},
		{"agent.churn-hold=long", "agent.churn-hold", "long", nil},
		{"agent.churn-hold=-1s", "agent.churn-hold", "-1s", func(err error) bool { return errors.As(err, &agentField) }},
		{"agent.avail.saturation=1.5", "agent.avail.saturation", "1.5", func(err error) bool { return errors.Is(err, capacity.ErrInvalid) }},
		{"rules.burst=NaN", "rules.burst", "NaN", func(err error) bool { return errors.Is(err, reserve.ErrInvalid) }},
		{"weight=-1", "weight", "-1", func(err error) bool { return errors.As(err, &simField) }},
		{"push=+Inf", "push", "+Inf", func(err error) bool { return errors.As(err, &simField) }},
	}
	b1, err := experiment.ByName("b1")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		s := sim.Spazio{Weight: 3}
		err := experiment.Set(&s, test.assignment)
		var refused *experiment.OptionError
		if !errors.As(err, &refused) || refused.Name != test.name || refused.Value != test.value {
			t.Errorf("%s: error %v", test.assignment, err)
		}
		if test.is != nil && !test.is(err) {
			t.Errorf("%s: error %v", test.assignment, err)
		}
		if diff := cmp.Diff(sim.Spazio{Weight: 3}, s, cmpopts.EquateComparable(profile.Config{})); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", test.assignment, diff)
		}
		if _, err := b1.Cases(experiment.Params{Set: []string{test.assignment}}, experiment.Sweep{}); !errors.As(err, &refused) {
			t.Errorf("cases with %s: error %v", test.assignment, err)
		}
	}
	var name *experiment.NameError
	if _, err := experiment.ConstantByName("speed"); !errors.As(err, &name) {
		t.Errorf("no such constant: error %v", err)
	}
}

func constant(t *testing.T, name string) experiment.Constant {
	t.Helper()
	c, err := experiment.ConstantByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestVary(t *testing.T) {
	b1 := cases(t, "b1", experiment.Params{Nodes: 19}, experiment.Sweep{Work: []float64{1, 10}, Law: []workload.Law{workload.Equal}})
	constants := []experiment.Constant{constant(t, "agent.churn-hold"), constant(t, "agent.filter.fast"), constant(t, "agent.filter.n")}
	varied, err := experiment.Vary(b1, constants, []float64{.5, 1, 1.5, 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range varied {
		if v.Case.Label != v.Of+"/"+v.Constant.Name+"="+v.Value {
			t.Errorf("label %s", v.Case.Label)
		}
		if v.Of == b1[0].Label {
			got = append(got, v.Constant.Name+"="+v.Value)
		}
	}
	want := []string{
		"agent.churn-hold=500ms", "agent.churn-hold=1.5s", "agent.churn-hold=2s",
		"agent.filter.fast=0.4", "agent.filter.fast=1", // its range ends at 1
		"agent.filter.n=3", "agent.filter.n=8", "agent.filter.n=10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(varied) != 2*len(want) {
		t.Errorf("%d variations, want %d", len(varied), 2*len(want))
	}
}

// Effects are ratios by seed, and the constant that moves most comes first.
func TestSensitivities(t *testing.T) {
	b1 := cases(t, "b1", experiment.Params{Nodes: 19}, experiment.Sweep{Work: []float64{1}, Law: []workload.Law{workload.Equal}})
	varied, err := experiment.Vary(b1, []experiment.Constant{constant(t, "push"), constant(t, "weight")}, []float64{.5, 1.5})
	if err != nil {
		t.Fatal(err)
	}
	data := func(label string, values ...float64) (rows []experiment.Row) {
		for seed, v := range values {
			rows = append(rows,
				experiment.Row{Experiment: label, Scheduler: experiment.Spazio, Seed: uint64(seed), Metric: "sojourn_mean", Value: v},
				experiment.Row{Experiment: label, Scheduler: experiment.Default, Seed: uint64(seed), Metric: "sojourn_mean", Value: 1},
				experiment.Row{Experiment: label, Scheduler: experiment.Spazio, Seed: uint64(seed), Metric: "makespan", Value: 1})
		}
		return rows
	}
	rows := data(b1[0].Label, 10, 20)
	for i, factor := range []float64{1.1, 1, .5, 1.5} {
		rows = append(rows, data(varied[i].Case.Label, 10*factor, 20*factor)...)
	}
	var got []string
	for _, s := range experiment.Sensitivities(experiment.Effects(varied, rows, "sojourn_mean")) {
		got = append(got, fmt.Sprintf("%s: %d, worst at %s %.2f of %d seeds", s.Constant.Name, len(s.Effects), s.Worst.Value, s.Worst.Mean, s.Worst.N))
	}
	want := []string{"weight: 2, worst at 2.5 0.50 of 2 seeds", "push: 2, worst at 0.5 1.10 of 2 seeds"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The half that is held out has other rows than that for tuning.
func TestHeldOut(t *testing.T) {
	for _, e := range experiment.Experiments() {
		trace, ok := traces[e.Name]
		if !ok {
			continue
		}
		var runs [2][]experiment.Row
		for i, heldOut := range []bool{false, true} {
			p := experiment.Params{Nodes: 3, Duration: 60, Trace: trace, HeldOut: heldOut}
			var err error
			o := experiment.Options{Schedulers: []string{experiment.Default}, Seeds: []uint64{1}}
			runs[i], err = experiment.Run(t.Context(), cases(t, e.Name, p, experiment.Sweep{Work: []float64{2}, Load: []float64{.4}}), o)
			if err != nil {
				t.Fatal(err)
			}
		}
		if cmp.Equal(runs[0], runs[1]) {
			t.Errorf("%s: both halves give the same", e.Name)
		}
	}
}
