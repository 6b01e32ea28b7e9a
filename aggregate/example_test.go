package aggregate_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/svd"
)

// Two nodes, one busy with CPU and one with memory, make a fleet that is busy with both. A node that
// pushes twice counts once.
func Example() {
	fleet, err := aggregate.New(aggregate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu := svd.State{Dim: 2, Block: 10, Mass: 2, U: []float64{1, 0}, Sigma: []float64{2}}
	memory := svd.State{Dim: 2, Block: 10, Mass: 2, U: []float64{0, 1}, Sigma: []float64{1}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cost := []aggregate.Cost{{Value: .5, SD: .1, Known: true}, {}}
	for i, model := range []svd.State{cpu, memory, memory} {
		local := aggregate.Local{Node: fmt.Sprint("node-", min(i, 1)), Sequence: uint64(i), Schema: "cpu,memory", Model: model, Costs: cost}
		if _, err := fleet.Put(now, local); err != nil {
			fmt.Println(err)
			return
		}
	}
	globals, err := fleet.Globals(now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range globals {
		fmt.Printf("%s: %d nodes, mass %.0f, energies %.1f and %.1f\n", g.Schema, g.Nodes, g.Model.Mass(),
			g.Model.Sigma(0)*g.Model.Sigma(0), g.Model.Sigma(1)*g.Model.Sigma(1))
		fmt.Printf("a pod takes %.1f cores, known: %v; memory known: %v\n", g.Costs[0].Value, g.Costs[0].Known, g.Costs[1].Known)
	}
	// Output:
	// cpu,memory: 2 nodes, mass 4, energies 2.0 and 0.5
	// a pod takes 0.5 cores, known: true; memory known: false
}

// Two replicas that each received one node's push exchange them. Their clocks differ by an hour;
// entries carry only ages.
func ExampleAggregator_Merge() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clocks := []time.Time{now, now.Add(time.Hour)}
	var replicas []*aggregate.Aggregator
	for i, at := range clocks {
		a, err := aggregate.New(aggregate.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		model := svd.State{Dim: 1, Block: 10, Mass: 2, U: []float64{1}, Sigma: []float64{float64(i + 1)}}
		if _, err := a.Put(at, aggregate.Local{Node: fmt.Sprint("node-", i), Schema: "cpu", Model: model}); err != nil {
			fmt.Println(err)
			return
		}
		replicas = append(replicas, a)
	}
	for i, a := range replicas {
		from := 1 - i
		entries, _ := replicas[from].Changes(clocks[from], 0, replicas[from].Cursor(), uint64(i+1), 1<<17)
		for _, e := range entries {
			if _, err := a.Merge(clocks[i], e, uint64(from+1)); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	for i, a := range replicas {
		globals, err := a.Globals(clocks[i])
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d nodes, energy %.2f\n", globals[0].Nodes, globals[0].Model.Energy(0))
	}
	// Output:
	// 2 nodes, energy 2.50
	// 2 nodes, energy 2.50
}
