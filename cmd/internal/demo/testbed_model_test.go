package demo

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// On one core two jobs that use all of it take as long as both together; beside a job that uses a
// tenth, a job gets the rest, as long as that lasts. Other effects are small.
func TestModel(t *testing.T) {
	m := model{
		node.Params{Cores: 1, Background: 1e-9, StartWork: 1, StopWork: 1, Seed: 1},
		[]testbedJob{{"long", 1, 60}, {"short", 1, 30}, {"waits", .1, 3}},
	}
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
		got, err := m.seconds(test.pair)
		if err != nil || math.Abs(got-test.want) > .01*test.want {
			t.Errorf("%v: %v s, error %v, want %v", test.pair, got, err, test.want)
		}
	}
	both, err := colocate.Makespan([]colocate.Pair{{A: "waits"}, {A: "long"}}, m.seconds)
	if err != nil || math.Abs(both-60) > .6 {
		t.Errorf("two nodes: got %v s, error %v, want the longer", both, err)
	}
}
