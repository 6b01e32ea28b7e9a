package sim_test

import (
	"context"
	"fmt"

	"github.com/spazio-scheduler/spazio/sim"
)

func Example() {
	// Forty pods of ten CPU-seconds at once on two nodes of four cores.
	pods := make([]sim.Pod, 40)
	for i := range pods {
		pods[i] = sim.Pod{Work: 10, Startup: 1}
	}
	for _, s := range []sim.Scheduler{sim.Default{}, sim.Spazio{}} {
		r, err := sim.Run(context.Background(), sim.Config{Nodes: 2, Scheduler: s, Seed: 1}, pods)
		if err != nil {
			fmt.Println(err)
			return
		}
		longest := 0.
		for _, record := range r.Records {
			longest = max(longest, record.Done-record.Running)
		}
		fmt.Printf("%T: at most two pods a core: %v, longest run below 30 s: %v\n", s, r.Most <= 8, longest < 30)
	}
	// Output:
	// sim.Default: at most two pods a core: false, longest run below 30 s: false
	// sim.Spazio: at most two pods a core: true, longest run below 30 s: true
}
