package sim_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// loaded returns a cluster of three nodes of four cores, the first of which has that many tasks
// that are no pods from ten minutes on, and its pods: two jobs of an hour a node and a service.
func loaded(s sim.Scheduler, tasks float64) (sim.Config, []sim.Pod) {
	var pods []sim.Pod
	for range 6 {
		pods = append(pods, sim.Pod{Work: 3600, Startup: 1, Workload: "job", Evictable: true})
	}
	pods = append(pods, sim.Pod{Server: node.Server{Rate: 20, Work: .0125}, Startup: 1, Evictable: true})
	quiet := sim.Series{Step: 600, Cores: []float64{0}}
	return sim.Config{
		Nodes: 3, Node: node.Params{Cores: 4}, Scheduler: s, Seed: 1, Horizon: 30_000,
		Background: []sim.Series{{Step: 600, Cores: []float64{0, tasks}}, quiet, quiet},
	}, pods
}

func simulate(t *testing.T, s sim.Scheduler, tasks float64) sim.Result {
	t.Helper()
	c, pods := loaded(s, tasks)
	r, err := sim.Run(t.Context(), c, pods)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Pods leave a node when other load takes its cores, restart elsewhere, and all are done sooner.
func TestRelief(t *testing.T) {
	without, with := simulate(t, sim.Spazio{}, 8), simulate(t, sim.Spazio{Relief: true}, 8)
	if len(without.Disruptions) > 0 {
		t.Errorf("%v without relief", without.Disruptions)
	}
	if n := len(with.Disruptions); n == 0 || n > 3 {
		t.Fatalf("%d disruptions, want 1 to 3 of one node", n)
	}
	lost := 0.
	for i, d := range with.Disruptions {
		if d.At < 770 || i > 0 && d.At-with.Disruptions[i-1].At < 60 {
			t.Errorf("%+v: too early", d)
		}
		if job := with.Pods[d.Pod].Server.Rate == 0; job && !(d.Back >= d.At+10 && d.Back < d.At+120) {
			t.Errorf("%+v: a Job makes its next pod after ten seconds", d)
		}
		if record := with.Records[d.Pod]; record.Node == 0 {
			t.Errorf("pod %d went back to where it came from", d.Pod)
		}
		lost += d.Lost
	}
	if lost <= 0 || math.Abs(with.Lost-lost) > 1e-6 {
		t.Errorf("lost %g, the pods had done %g", with.Lost, lost)
	}
	if with.End >= .8*without.End {
		t.Errorf("done after %.0f s, without relief %.0f", with.End, without.End)
	}
}

// Without a change nothing is evicted.
func TestReliefOfNothing(t *testing.T) {
	for name, s := range map[string]sim.Scheduler{
		"relief": sim.Spazio{Relief: true}, "load": sim.LowNodeLoad{},
	} {
		if r := simulate(t, s, 0); len(r.Disruptions) > 0 {
			t.Errorf("%s: %v", name, r.Disruptions)
		}
	}
}

// LowNodeUtilization evicts one pod of each node above its target every five minutes while some node is
// below its threshold; LowNodeLoad waits for six rounds above the threshold and evicts two.
func TestLowNode(t *testing.T) {
	first := func(s sim.Scheduler) []sim.Disruption {
		pods := []sim.Pod{
			{On: 1, Work: 1800, Workload: "job", Evictable: true}, {On: 1, Work: 1800, Workload: "job", Evictable: true},
			{On: 1, Work: 1800, Workload: "job"}, {On: 1, Work: 1800, Workload: "job"},
		}
		r, err := sim.Run(t.Context(), sim.Config{Nodes: 2, Node: node.Params{Cores: 4}, Scheduler: s, Seed: 1}, pods)
		if err != nil {
			t.Fatal(err)
		}
		return r.Disruptions
	}
	// Four of four cores are in use on one node, and nothing on the other until a pod has come there.
	var got [2][]float64
	for i, s := range []sim.Scheduler{sim.LowNodeUtilization{}, sim.LowNodeLoad{}} {
		for _, d := range first(s) {
			got[i] = append(got[i], d.At)
		}
	}
	want := [2][]float64{{295}, {415, 415}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A service that the scheduler places serves, and is replaced at once if it is evicted.
func TestService(t *testing.T) {
	r := simulate(t, sim.LowNodeUtilization{}, 8)
	services := 0
	for _, d := range r.Disruptions {
		if r.Pods[d.Pod].Server.Rate > 0 {
			services++
			if down := d.Back - d.At; !(down > 0 && down < 10) {
				t.Errorf("a service was down for %g s", down)
			}
		}
	}
	if services == 0 {
		t.Error("no service was evicted")
	}
	if len(r.Responses) == 0 {
		t.Error("no request was answered")
	}
}

// The figures of a run, by hand.
func TestDisruptionMetrics(t *testing.T) {
	r := sim.Result{
		Nodes: 1, End: 1000, Done: 500,
		Pods: []sim.Pod{
			{Work: 100, Evictable: true}, {Work: 50}, {Server: node.Server{Rate: 1, Work: 1}, Evictable: true},
			{Work: 50, Evictable: true}, {Work: 25, Created: 800}, {Work: 10, Created: 700}, {Work: 50, Created: 900},
		},
		Records: []sim.Record{
			{Node: 0, Bound: 700, Running: 710, Done: 810}, {Node: 0, Bound: 0, Running: 10, Done: 110}, {Node: 0, Running: 1, Done: -1},
			{Node: -1, Running: -1, Done: -1, GaveUp: true}, // after it was evicted: (1000 − 100)/50
			{Node: 0, Running: 900, Done: -1},               // still runs: (1000 − 900)/25
			{Node: -1, Running: -1, Done: -1},               // never started: (1000 − 700)/10
			{Node: 0, Running: 990, Done: -1},               // still runs, for less than it takes alone: 1
		},
		Disruptions: []sim.Disruption{
			{Pod: 3, Began: 100, At: 150, Back: -1}, {Pod: 0, Began: 10, At: 60, Back: 80, Lost: 25}, {Pod: 0, Began: 80, At: 700, Back: 710, Lost: 75}, {Pod: 2, At: 100, Back: 103}, {Pod: 2, At: 690, Back: -1},
		},
	}
	want := map[string]float64{
		"total_slowdown_mean": (8 + 2 + 18 + 4 + 30 + 1) / 6., "total_slowdown_p50": 4, "total_slowdown_p99": 30, "disruptions": 5, "work_lost": .2, "disrupted_again": 1, "server_down": 310,
	}
	got := map[string]float64{}
	for _, m := range sim.Summarise(r) {
		if _, ok := want[m.Name]; ok {
			got[m.Name] = m.Value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
