package node_test

import (
	"math"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/node"
)

// TestUsage: three pods of a core on two cores hold two thirds of one each and wait for the rest,
// and would take a core of idle ones.
func TestUsage(t *testing.T) {
	m, err := node.New(node.Params{Cores: 2, Background: 1e-9, StartWork: 1, StopWork: 1})
	if err != nil {
		t.Fatal(err)
	}
	for id := range node.PodID(3) {
		if err := m.Bind(0, node.Pod{ID: id, Work: 20, Memory: 100, Ramp: 10}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Bind(0, node.Pod{ID: 3, Work: 20, Cores: .1, Memory: 50}); err != nil {
		t.Fatal(err)
	}
	m.AdvanceTo(nil, 6)
	// 1.9 cores are left for the three; the fourth wants less than its share.
	for id, want := range []node.Usage{
		{CPU: 6 * 1.9 / 3, Stalled: 6 * (1 - 1.9/3), Memory: 70, Peak: 70},
		{CPU: 6 * 1.9 / 3, Stalled: 6 * (1 - 1.9/3), Memory: 70, Peak: 70},
		{CPU: 6 * 1.9 / 3, Stalled: 6 * (1 - 1.9/3), Memory: 70, Peak: 70},
		{CPU: .6, Memory: 50, Peak: 50},
	} {
		got, ok := m.Usage(node.PodID(id))
		if !ok || math.Abs(got.CPU-want.CPU) > 1e-4 || math.Abs(got.Stalled-want.Stalled) > 1e-4 || got.Memory != want.Memory || got.Peak != want.Peak {
			t.Errorf("pod %d: %+v, %v, want %+v", id, got, ok, want)
		}
	}
	if u, ok := m.Usage(7); ok {
		t.Errorf("of a pod that is not there: %+v", u)
	}
	m.AdvanceTo(nil, 20*3/1.9+.001)
	if got, ok := m.Usage(0); !ok || math.Abs(got.CPU-20) > 1e-3 || math.Abs(got.Stalled-20*3/1.9*(1-1.9/3)) > 1e-2 {
		t.Errorf("when it has ended: %+v, %v", got, ok)
	}
	m.AdvanceTo(nil, 40)
	if got, ok := m.Usage(0); ok {
		t.Errorf("long after its end: %+v", got)
	}
}

// TestUsageOfKilled: the usage of a killed pod is what it held.
func TestUsageOfKilled(t *testing.T) {
	m, err := node.New(node.Params{Cores: 2, Memory: 1000, Background: 1e-9, Overcommit: node.Kill})
	if err != nil {
		t.Fatal(err)
	}
	for id, memory := range []float64{600, 500} {
		if err := m.Bind(float64(id), node.Pod{ID: node.PodID(id), Work: 20, Memory: memory}); err != nil {
			t.Fatal(err)
		}
	}
	m.AdvanceTo(nil, 1)
	got, ok := m.Usage(0)
	if !ok || got.Peak != 600 || !(got.CPU > .5 && got.CPU <= 1) {
		t.Errorf("%+v, %v", got, ok)
	}
}
