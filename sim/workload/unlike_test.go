package workload

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
)

const nodeMemory = 16 << 30

// TestUnlike: pods of one workload differ by at most a fifth from its mean, all pods by more than
// ten times, and all run alone for the same time.
func TestUnlike(t *testing.T) {
	pods, err := Unlike(3, 2000, 20, Equal, nodeMemory, Workloads{})
	if err != nil {
		t.Fatal(err)
	}
	type span struct{ least, most float64 }
	cores, memory := map[string]span{}, map[string]span{}
	widen := func(of map[string]span, name string, v float64) {
		s, ok := of[name]
		if !ok {
			s = span{v, v}
		}
		of[name] = span{min(s.least, v), max(s.most, v)}
	}
	for _, p := range pods {
		if math.Abs(p.Solo()-20) > 1e-9 {
			t.Fatalf("%+v runs alone for %g s", p, p.Solo())
		}
		widen(cores, p.Workload, p.Cores)
		widen(memory, p.Workload, p.Memory)
		widen(cores, "", p.Cores)
		widen(memory, "", p.Memory)
	}
	if len(cores) != 20+1 {
		t.Errorf("%d workloads", len(cores)-1)
	}
	for name, s := range cores {
		if name == "" {
			continue
		}
		if s.most/s.least > 1.2/.8+1e-9 || memory[name].most/memory[name].least > 1.2/.8+1e-6 {
			t.Errorf("%s: cores %v, memory %v", name, s, memory[name])
		}
	}
	if all := cores[""]; all.least < .05*.8 || all.most > 1.2 || all.most/all.least < 10 {
		t.Errorf("cores of all: %v", all)
	}
	if all := memory[""]; all.least < .003*.8*nodeMemory-1 || all.most > .3*1.2*nodeMemory || all.most/all.least < 20 {
		t.Errorf("memory of all: %v", all)
	}
}

func TestOneOff(t *testing.T) {
	named, err := Unlike(3, 100, 20, Equal, nodeMemory, Workloads{})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := Unlike(3, 100, 20, Equal, nodeMemory, Workloads{OneOff: true})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range pods {
		names[pods[i].Workload] = true
		pods[i].Workload = named[i].Workload
	}
	if len(names) != len(pods) {
		t.Errorf("%d names of %d pods", len(names), len(pods))
	}
	if d := cmp.Diff(named, pods); d != "" {
		t.Errorf("more than the names differs (-named +one-off):\n%s", d)
	}
}

// TestUnlikeArrivals: they have the requested load.
func TestUnlikeArrivals(t *testing.T) {
	sum := 0.
	const seeds, cores, duration = 20, 76, 1000
	for seed := range uint64(seeds) {
		pods, err := UnlikeArrivals(seed, .7, cores, 20, duration, Exponential, nodeMemory, Workloads{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pods {
			sum += p.Work / (cores * duration * seeds)
		}
	}
	if math.Abs(sum-.7) > .03 {
		t.Errorf("load %g", sum)
	}
}

func TestRollOut(t *testing.T) {
	pods := []sim.Pod{{Created: 1, Memory: 10}, {Created: 2, Memory: 10}, {Created: 3, Memory: 80}}
	given := slices.Clone(pods)
	want := []sim.Pod{{Created: 1, Memory: 10}, {Created: 2, Memory: 20, Revision: "new"}, {Created: 3, Memory: 100, Revision: "new"}}
	if d := cmp.Diff(want, RollOut(pods, 2, 2, 100)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(given, pods); d != "" {
		t.Errorf("the pods that were given have changed:\n%s", d)
	}
}

func TestNightly(t *testing.T) {
	pods := []sim.Pod{{Created: 0, Memory: 10}, {Created: 49, Memory: 10}, {Created: 50, Memory: 10}, {Created: 99, Memory: 80}, {Created: 101, Memory: 10}, {Created: 350, Memory: 30}}
	given := slices.Clone(pods)
	want := []sim.Pod{{Created: 0, Memory: 10}, {Created: 49, Memory: 10}, {Created: 50, Memory: 20}, {Created: 99, Memory: 100}, {Created: 101, Memory: 10}, {Created: 350, Memory: 60}}
	if d := cmp.Diff(want, Nightly(pods, 100, 2, 100)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(given, pods); d != "" {
		t.Errorf("the pods that were given have changed:\n%s", d)
	}
}

func TestUnlikeRefuses(t *testing.T) {
	for _, w := range []Workloads{{Ramp: -1}, {Ramp: math.NaN()}, {Ramp: math.Inf(1)}} {
		if _, err := Unlike(1, 10, 20, Equal, nodeMemory, w); !isField(err) {
			t.Errorf("%+v: %v", w, err)
		}
		if _, err := UnlikeArrivals(1, .5, 4, 20, 100, Equal, nodeMemory, w); !isField(err) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func isField(err error) bool {
	var name *field.Error
	return errors.As(err, &name)
}
