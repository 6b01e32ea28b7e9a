package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
)

// unequal returns one arrival a second for 100 s, half of a workload whose pods live for a second,
// half of one whose pods live for 20: twice what four cores do in that time.
func unequal() []sim.Pod {
	pods := make([]sim.Pod, 0, 200)
	for second := range 50 {
		for i := range 4 {
			p := sim.Pod{Workload: "short", Work: 1, Created: float64(second)}
			if i%2 == 0 {
				p.Workload, p.Work = "long", 20
			}
			pods = append(pods, p)
		}
	}
	return pods
}

// sojournsOf returns the mean of a workload's pods and the longest, in seconds.
func sojournsOf(r sim.Result, workload string) (mean, most float64) {
	n := 0.
	for i, record := range r.Records {
		if p := &r.Pods[i]; p.Workload == workload {
			sojourn := record.Done - p.Created
			mean, most, n = mean+sojourn, max(most, sojourn), n+1
		}
	}
	return mean / n, most
}

// TestShortestFirst: with profiles and without, short pods wait less, and long ones no longer than
// their delays differ, 96 s at most, plus the time for the short ones to end.
func TestShortestFirst(t *testing.T) {
	for _, profiles := range []bool{false, true} {
		var short, long, longest [2]float64
		for i, first := range []bool{false, true} {
			s := sim.Spazio{ShortestFirst: first, Profiles: sim.Profiles{On: profiles}}
			r := run(t, sim.Config{Nodes: 2, Scheduler: s, Seed: 5}, unequal())
			short[i], _ = sojournsOf(r, "short")
			long[i], longest[i] = sojournsOf(r, "long")
		}
		if short[1] > short[0]/2 || long[1] > 1.2*long[0] || longest[1] > longest[0]+60 {
			t.Errorf("profiles %t: sojourn of short pods %v, of long ones %v, at most %v, before and with the shortest first", profiles, short, long, longest)
		}
		t.Logf("profiles %t: short %v, long %v, longest %v", profiles, short, long, longest)
	}
}

// TestShortestFirstOfOne: pods whose lives are indistinguishable keep their order.
func TestShortestFirstOfOne(t *testing.T) {
	for _, workload := range []string{"", "one"} {
		pods := alike(60, sim.Pod{Workload: workload, Work: 5})
		want := run(t, sim.Config{Nodes: 2, Scheduler: sim.Spazio{}, Seed: 5}, pods)
		got := run(t, sim.Config{Nodes: 2, Scheduler: sim.Spazio{ShortestFirst: true}, Seed: 5}, pods)
		if diff := cmp.Diff(want.Records, got.Records); diff != "" {
			t.Errorf("workload %q (-want +got):\n%s", workload, diff)
		}
	}
}
