package experiment_test

import (
	"context"
	"fmt"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// The lower bound of four pods on one node of four cores: each runs alone on a core for the ten
// seconds of its work.
func ExampleRun() {
	pods := make([]sim.Pod, 4)
	for i := range pods {
		pods[i] = sim.Pod{Work: 10}
	}
	cases, err := experiment.Given("mine", pods).Cases(experiment.Params{Nodes: 1, Cores: 4}, experiment.Sweep{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := experiment.Run(context.Background(), cases, experiment.Options{
		Schedulers: []string{"lower-bound", experiment.Default}, Seeds: []uint64{1}, Workers: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	least := map[string]float64{}
	for _, row := range rows {
		if row.Metric == "makespan" {
			least[row.Scheduler] = row.Value
		}
	}
	fmt.Println("more than 10 s:", least["lower-bound"] > 10, "beaten:", least[experiment.Default] < least["lower-bound"])
	// Output: more than 10 s: true beaten: false
}

// A metric of two schedulers with two seeds is half as much with the one and twice as much with the
// other, which is equal in the geometric mean.
func ExampleRatios() {
	row := func(scheduler string, seed uint64, seconds float64) experiment.Row {
		return experiment.Row{Experiment: "b1", Scheduler: scheduler, Seed: seed, Metric: "makespan", Value: seconds, Unit: "s"}
	}
	lines := experiment.Ratios([]experiment.Row{
		row(experiment.Default, 1, 100), row(experiment.Default, 2, 80),
		row(experiment.Spazio, 1, 50), row(experiment.Spazio, 2, 160),
	}, experiment.Default)
	for _, line := range lines {
		fmt.Printf("%s: %.2f of %d seeds, one by one %.1f\n", line.Scheduler, line.Mean, line.N, line.Values)
	}
	// Output:
	// default: 1.00 of 2 seeds, one by one [1.0 1.0]
	// spazio: 1.00 of 2 seeds, one by one [0.5 2.0]
}
