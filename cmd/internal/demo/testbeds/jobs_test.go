package testbeds

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// Of 2n jobs there are (2n−1)!! pairings, each of them once, and all jobs are in each.
func TestPairings(t *testing.T) {
	for each, want := range map[int]int{1: 1, 2: 3, 3: 15, 4: 105} {
		jobs, seen := drawJobs(each, time.Minute, 1), map[string]bool{}
		err := pairings(jobs, func(pairs []colocate.Pair) error {
			there := map[string]bool{}
			for _, p := range pairs {
				there[p.A], there[p.B] = true, true
			}
			if len(there) != 2*each || len(pairs) != each {
				t.Errorf("pairing %v", pairs)
			}
			seen[fmt.Sprint(pairs)] = true
			return nil
		})
		if err != nil || len(seen) != want {
			t.Errorf("%d jobs: %d pairings, error %v, want %d", 2*each, len(seen), err, want)
		}
	}
}

// On one core two jobs that want all of it take as long as both together, and beside one
// that wants a tenth a job gets the rest, as long as that lasts. All else is small.
func TestModel(t *testing.T) {
	one := node.Params{Cores: 1, Background: 1e-9, StartWork: 1, StopWork: 1, Seed: 1}
	jobs := []job{{"long", 1, 60}, {"short", 1, 30}, {"waits", .1, 3}}
	for _, test := range []struct {
		pair colocate.Pair
		want float64
	}{
		{colocate.Pair{A: "long"}, 60},
		{colocate.Pair{A: "long", B: "short"}, 90},
		// 30 s at nine tenths, then alone.
		{colocate.Pair{A: "long", B: "waits"}, 30 + 60 - 27},
		{colocate.Pair{A: "waits"}, 30},
	} {
		got, err := model(one, jobs, []colocate.Pair{test.pair})
		if err != nil || math.Abs(got-test.want) > .01*test.want {
			t.Errorf("%v: %v s, error %v, want %v", test.pair, got, err, test.want)
		}
	}
	both, err := model(one, jobs, []colocate.Pair{{A: "waits"}, {A: "long"}})
	if err != nil || math.Abs(both-60) > .6 {
		t.Errorf("two nodes: %v s, error %v, want the longer", both, err)
	}
}
