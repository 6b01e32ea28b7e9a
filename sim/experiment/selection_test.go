package experiment_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// labels returns those of the selected cases.
func labels(t *testing.T, s experiment.Selection) (names []string, left []experiment.Experiment) {
	t.Helper()
	selected, left, err := s.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range selected {
		names = append(names, c.Label)
	}
	return names, left
}

// TestSelection: a named experiment has one fleet unless all are requested; the group of all has
// every one.
func TestSelection(t *testing.T) {
	sweep := experiment.Sweep{Work: []float64{10}, Law: []workload.Law{workload.Equal}}
	one, _ := labels(t, experiment.Selection{Names: []string{"b1", "B2"}, Sweep: sweep})
	each, _ := labels(t, experiment.Selection{Names: []string{"b1", "B2"}, Sweep: sweep, EveryFleet: true})
	wantOne, wantEach := 0, 0
	for _, name := range []string{"b1", "b2"} {
		e, err := experiment.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := e.OneFleet().Cases(experiment.Params{}, sweep)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := e.Cases(experiment.Params{}, sweep)
		if err != nil {
			t.Fatal(err)
		}
		wantOne, wantEach = wantOne+len(alone), wantEach+len(whole)
	}
	if len(one) != wantOne || len(each) != wantEach || wantOne >= wantEach {
		t.Errorf("%d cases of one fleet, %d of every one, want %d and %d:\n%q\n%q", len(one), len(each), wantOne, wantEach, one, each)
	}
	all, left := labels(t, experiment.Selection{Names: []string{"ALL"}, Sweep: sweep})
	if !slices.Contains(all, each[len(each)-1]) {
		t.Errorf("the group of all lacks %s", each[len(each)-1])
	}
	var without []string
	for _, e := range left {
		without = append(without, e.Name)
	}
	if diff := cmp.Diff([]string{"background", "functions"}, without); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

// TestSelectionOfSchedulers: there are few, unless all are requested.
func TestSelectionOfSchedulers(t *testing.T) {
	for every, want := range map[bool]int{false: len(experiment.Leading()), true: len(experiment.DefaultSchedulers())} {
		selected, _, err := experiment.Selection{
			Names: []string{"b1"}, Sweep: experiment.Sweep{Work: []float64{.1}, Law: []workload.Law{workload.Equal}},
			Params: experiment.Params{Pods: 1, Nodes: 1, Cores: 1}, EveryScheduler: every,
		}.Cases()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := experiment.Run(t.Context(), selected, experiment.Options{Seeds: []uint64{1}})
		if err != nil {
			t.Fatal(err)
		}
		schedulers := map[string]bool{}
		for _, r := range rows {
			schedulers[r.Scheduler] = true
		}
		if len(schedulers) != want {
			t.Errorf("every %t: %d schedulers, want %d", every, len(schedulers), want)
		}
	}
}

// TestSelectionOfTraces: an experiment's own trace has priority over that of all.
func TestSelectionOfTraces(t *testing.T) {
	series := fstest.MapFS{"a.csv": {Data: []byte("timestamp,value\n0,20\n300,80\n600,10\n900,15\n")}}
	for name, traces := range map[string]map[string]fs.FS{
		"its own": {"h1": series, "": fstest.MapFS{}}, "that of all": {"": series, "f1": fstest.MapFS{}},
	} {
		selected, left, err := experiment.Selection{Names: []string{"H1"}, Traces: traces}.Cases()
		if err != nil || len(left) > 0 || len(selected) == 0 {
			t.Fatalf("%s: %d cases, %v left, %v", name, len(selected), left, err)
		}
		for _, c := range selected {
			if _, err := fs.Stat(c.Params.Trace, "a.csv"); err != nil {
				t.Errorf("%s: %s replays another: %v", name, c.Label, err)
			}
		}
	}
	if _, _, err := (experiment.Selection{Names: []string{"h1"}}).Cases(); !errors.Is(err, experiment.ErrNoTrace) {
		t.Errorf("named without a trace: %v", err)
	}
}

// TestSelectionOfGivenPods: they use only the sweep's fleets.
func TestSelectionOfGivenPods(t *testing.T) {
	given := []experiment.Experiment{experiment.Given("mine", []sim.Pod{{Work: 1}})}
	fleets := []string{"2x4", "1x8"}
	got, _ := labels(t, experiment.Selection{
		Names: []string{"b1"}, Given: given,
		Sweep: experiment.Sweep{Work: []float64{1, 10}, Law: []workload.Law{workload.Equal}, Fleet: fleets},
	})
	if len(got) != 2*2+2 || got[4] != "mine/fleet=2x4" || got[5] != "mine/fleet=1x8" {
		t.Errorf("cases are %q", got)
	}
}

func TestSelectionRefuses(t *testing.T) {
	var name *experiment.NameError
	for _, s := range []experiment.Selection{
		{Names: []string{"b1", "none"}}, {Names: []string{"b1"}, Sweep: experiment.Sweep{Fleet: []string{"many"}}},
		{Given: []experiment.Experiment{experiment.Given("mine", []sim.Pod{{Work: 1}})}, Sweep: experiment.Sweep{Fleet: []string{"many"}}},
	} {
		if cases, _, err := s.Cases(); !errors.As(err, &name) || cases != nil {
			t.Errorf("%+v: %d cases, %v", s, len(cases), err)
		}
	}
}

func TestSeeds(t *testing.T) {
	for _, test := range []struct {
		first   uint64
		heldOut bool
		want    []uint64
	}{{0, false, []uint64{1, 2, 3}}, {0, true, []uint64{101, 102, 103}}, {7, false, []uint64{7, 8, 9}}, {200, true, []uint64{200, 201, 202}}} {
		if diff := cmp.Diff(test.want, experiment.Seeds(3, test.first, test.heldOut)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test, diff)
		}
	}
}
